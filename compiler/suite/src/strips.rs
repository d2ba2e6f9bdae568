//! Programs over the columns of an array of three dimensions, in each of its planes or through all of them.

/// Which axis the elements of a column lie along.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Through {
    /// Columns of each plane.
    Rows,
    /// Elements of all planes.
    Planes,
}

impl Through {
    pub const ALL: [Through; 2] = [Through::Rows, Through::Planes];

    /// Returns the extents of an array with so many columns of so many elements.
    pub fn extents(self, around: usize, length: usize, columns: usize) -> [usize; 3] {
        match self {
            Through::Rows => [around, length, columns],
            Through::Planes => [length, around, columns],
        }
    }

    /// Returns a text with its indices in place of `AT`, `AROUND` and `ALONG`.
    fn text(self, text: &str) -> String {
        let (at, extents, around, along) = match self {
            Through::Rows => ("%p, %k, %j", "%a, %n, %c (%p: i64, %k: i64, %j: i64)", "", " axis 1"),
            Through::Planes => ("%k, %p, %j", "%n, %a, %c (%k: i64, %p: i64, %j: i64)", " axis 1", ""),
        };
        let text = text.replace("EXTENTS", extents).replace("AT", at);
        text.replace("AROUND", around).replace("ALONG", along)
    }

    /// A softmax.
    pub fn softmax(self) -> String {
        self.text(
            "func @f(%m: [[[T]]]) -> (r: [[[T]]]) {
  %a = len %mAROUND
  %n = len %mALONG
  %c = len %m axis 2
  %top = generate %a, %c (%p: i64, %j: i64) {
    %e = generate %n (%k: i64) { %x = elem %m, AT yield %x }
    %0 = reduce (%x: T, %y: T) from LEAST over %e { %z = max %x, %y yield %z }
    yield %0
  }
  %e = generate EXTENTS {
    %x = elem %m, AT
    %y = elem %top, %p, %j
    %d = sub %x, %y
    %z = exp %d
    yield %z
  }
  %sum = generate %a, %c (%p: i64, %j: i64) {
    %v = generate %n (%k: i64) { %x = elem %e, AT yield %x }
    %0 = reduce (%x: T, %y: T) from 0T over %v { %z = add %x, %y yield %z }
    yield %0
  }
  %r = generate EXTENTS {
    %x = elem %e, AT
    %y = elem %sum, %p, %j
    %z = div %x, %y
    yield %z
  }
  return %r
}",
        )
    }

    /// Reductions of one stage and of two, values of the axes around a column and along it, of which some are
    /// initial values, and results of columns.
    pub fn scaled(self) -> String {
        self.text(
            "func @f(%m: [[[T]]], %w: [T], %u: [T]) -> (r: [[[T]]], s: [[T]]) {
  %a = len %mAROUND
  %n = len %mALONG
  %c = len %m axis 2
  %0 = len %w
  require same %n, %0 \"along: m, w\"
  %1 = len %u
  require same %a, %1 \"around: m, u\"
  %first = generate %a, %c (%p: i64, %j: i64) {
    %e = generate %n (%k: i64) {
      %x = elem %m, AT
      %y = elem %w, %k
      %z = mul %x, %y
      yield %z
    }
    %x = elem %u, %p
    %2 = reduce (%x: T, %y: T) from %x over %e { %z = add %x, %y yield %z }
    yield %2
  }
  %s = generate %a, %c (%p: i64, %j: i64) {
    %e = generate %n (%k: i64) {
      %x = elem %m, AT
      %y = elem %first, %p, %j
      %z = sub %x, %y
      yield %z
    }
    %3 = reduce (%x: T, %y: T) from 9T over %e { %z = min %x, %y yield %z }
    %4 = dot from 0T over %e, %w
    %5 = add %3, %4
    yield %5
  }
  %r = generate EXTENTS {
    %x = elem %m, AT
    %y = elem %first, %p, %j
    %z = elem %s, %p, %j
    %v = elem %u, %p
    %t = elem %w, %k
    %d = sub %x, %y
    %q = mul %d, %z
    %o = add %q, %v
    %g = sub %o, %t
    yield %g
  }
  return %r, %s
}",
        )
    }

    /// Columns without their mean, divided by their standard deviation.
    pub fn standardised(self) -> String {
        self.text(
            "func @f(%m: [[[T]]]) -> (r: [[[T]]]) {
  %a = len %mAROUND
  %n = len %mALONG
  %c = len %m axis 2
  %count = cast T %n
  %mean = generate %a, %c (%p: i64, %j: i64) {
    %e = generate %n (%k: i64) { %x = elem %m, AT yield %x }
    %0 = reduce (%x: T, %y: T) from 0T over %e { %z = add %x, %y yield %z }
    %1 = div %0, %count
    yield %1
  }
  %s = generate %a, %c (%p: i64, %j: i64) {
    %e = generate %n (%k: i64) { %x = elem %m, AT yield %x }
    %0 = squared_deviations from 0T over %e
    %1 = div %0, %count
    %2 = sqrt %1
    yield %2
  }
  %r = generate EXTENTS {
    %x = elem %m, AT
    %y = elem %mean, %p, %j
    %z = elem %s, %p, %j
    %d = sub %x, %y
    %q = div %d, %z
    yield %q
  }
  return %r
}",
        )
    }
}

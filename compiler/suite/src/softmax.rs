//! A program over rows that several tests run.

/// A softmax: two reductions, of which the second needs the first, and the elements.
pub const SOFTMAX: &str = "func @f(%m: [[T]]) -> (r: [[T]]) {
  %n = len %m
  %k = len %m axis 1
  %top = generate %n (%i: i64) {
    %row = pick %m at %i
    %0 = reduce (%x: T, %y: T) from LEAST over %row { %z = max %x, %y yield %z }
    yield %0
  }
  %e = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %m, %i, %j
    %y = elem %top, %i
    %d = sub %x, %y
    %z = exp %d
    yield %z
  }
  %sum = generate %n (%i: i64) {
    %row = pick %e at %i
    %0 = reduce (%x: T, %y: T) from 0T over %row { %z = add %x, %y yield %z }
    yield %0
  }
  %r = generate %n, %k (%i: i64, %j: i64) {
    %x = elem %e, %i, %j
    %y = elem %sum, %i
    %z = div %x, %y
    yield %z
  }
  return %r
}";

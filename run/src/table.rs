//! `.csv` files: numbers, a row on each line. Numbers have neither commas nor line breaks in them, so that
//! this needs no parser of quoted text.

use crate::array::Array;
use crate::kind::Kind;
use crate::problem::{Result, failure};

/// Reads a vector (one column or one row) or a matrix from a file's bytes, with elements of a type.
pub fn read(bytes: &[u8], file: &str, kind: Kind, rank: usize) -> Result<Array> {
    // spreadsheets write the mark of UTF-8 before the text
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
    let (mut rows, mut columns) = (0i64, 0usize);
    let mut elements = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let before = elements.len();
        for field in line.split(',') {
            // some programs put numbers into quotes
            let field = field.trim().trim_matches('"');
            let bits = kind.parse(field);
            let bits = bits.ok_or_else(|| failure(format!("{file}:{number}: `{field}` is no {kind}")))?;
            elements.extend_from_slice(&bits[..kind.size()]);
        }
        let now = (elements.len() - before) / kind.size();
        if rows > 0 && now != columns {
            return Err(failure(format!(
                "{file}:{number}: {now} numbers in this row, {columns} in those before"
            )));
        }
        columns = now;
        rows += 1;
    }
    let columns = columns as i64;
    let extents = match rank {
        1 if rows <= 1 || columns == 1 => vec![rows * columns],
        1 => {
            let shape = format!("{rows} rows of {columns} numbers");
            return Err(failure(format!("{file}: {shape}; a vector is one row or one column")));
        }
        2 => vec![rows, columns],
        _ => return Err(failure(format!("{file}: a table is a vector or a matrix"))),
    };
    Ok(Array { kind, extents, bytes: elements })
}

/// Returns the text of a file: a scalar, a vector as one column, or a matrix.
pub fn write(array: &Array, file: &str) -> Result<Vec<u8>> {
    let columns = match array.extents[..] {
        [] | [_] => 1,
        [_, columns] => columns.max(1) as usize,
        _ => {
            return Err(failure(format!("{file}: a table holds a vector or a matrix; .npy holds any array")));
        }
    };
    let mut out = String::new();
    let mut elements = array.elements();
    for _ in 0..array.count() / columns {
        let row: Vec<String> = elements.by_ref().take(columns).map(|e| array.kind.text(e)).collect();
        out += &row.join(",");
        out.push('\n');
    }
    Ok(out.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_back() {
        let text = "1.5, -2\r\n# a comment\n\nnan,inf\n1e-3,\"0.0\" # another";
        let matrix = read(text.as_bytes(), "a.csv", Kind::F32, 2).unwrap();
        assert_eq!(matrix.extents, [3, 2]);
        let again = write(&matrix, "a.csv").unwrap();
        assert_eq!(String::from_utf8_lossy(&again), "1.5,-2.0\nNaN,inf\n0.001,0.0\n");
        assert_eq!(read(&again, "a.csv", Kind::F32, 2).unwrap(), matrix);
        for vector in ["1\n2\n3\n", "1,2,3"] {
            let vector = read(vector.as_bytes(), "a.csv", Kind::U8, 1).unwrap();
            assert_eq!((vector.extents, vector.bytes), (vec![3], vec![1, 2, 3]));
        }
        assert_eq!(read(b"", "a.csv", Kind::F64, 1).unwrap().extents, [0]);
        assert_eq!(read(b"\xef\xbb\xbf1.5,2\n", "a.csv", Kind::F64, 1).unwrap().extents, [2]);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let error = |text: &str, rank| read(text.as_bytes(), "a.csv", Kind::I32, rank).unwrap_err().text;
        assert_eq!(error("1,2\n3\n", 2), "a.csv:2: 1 numbers in this row, 2 in those before");
        assert_eq!(error("1\n2.5\n", 1), "a.csv:2: `2.5` is no i32");
        assert_eq!(error("x,y\n1,2\n", 2), "a.csv:1: `x` is no i32");
        assert_eq!(error("1,2\n3,4\n", 1), "a.csv: 2 rows of 2 numbers; a vector is one row or one column");
    }
}

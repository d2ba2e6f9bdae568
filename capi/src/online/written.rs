//! What the author of a program wrote where: the places and words of a builder's nodes, which messages and reports
//! name.

use super::builder::{Builder, with};
use crate::abi::{AgpuBuilder, AgpuStatus};
use crate::error::Result;
use arraygpu_compiler::loc::{Loc, LocStack};
use std::ffi::{CStr, c_char};

/// Sets the source line of the nodes that are made from now on, which messages and reports name. If
/// `file` is NULL, they have none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_at(
    builder: *mut AgpuBuilder,
    file: *const c_char,
    line: i32,
) -> AgpuStatus {
    // SAFETY: the caller promises it.
    with("agpu_builder_at", builder, |b| unsafe { place(b, file, line, 0) })
}

/// Does the same as agpu_builder_at() with the column of the line, from 1 on; 0 is a column that is not known.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_at_column(
    builder: *mut AgpuBuilder,
    file: *const c_char,
    line: i32,
    column: i32,
) -> AgpuStatus {
    // SAFETY: the caller promises it.
    with("agpu_builder_at_column", builder, |b| unsafe { place(b, file, line, column) })
}

/// # Safety
/// The file is a C string or NULL.
unsafe fn place(b: &mut Builder, file: *const c_char, line: i32, column: i32) -> Result<()> {
    let loc = match file.is_null() {
        true => LocStack::default(),
        false => {
            // SAFETY: the caller promises a C string.
            let file = unsafe { CStr::from_ptr(file) }.to_string_lossy();
            let [line, column] = [line, column].map(|n| u32::try_from(n).unwrap_or(0));
            LocStack::one(Loc { file: file.as_ref().into(), line, column })
        }
    };
    b.set_place(loc);
    Ok(())
}

/// Sets the word that messages name in place of the constructs of the nodes that are made from now on: what the
/// author of a program wrote, where a caller makes it of several constructs. If it is NULL, they name the constructs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agpu_builder_word(builder: *mut AgpuBuilder, word: *const c_char) -> AgpuStatus {
    with("agpu_builder_word", builder, |b| {
        let word = match word.is_null() {
            true => None,
            // SAFETY: the caller promises a C string.
            false => Some(unsafe { CStr::from_ptr(word) }.to_string_lossy().as_ref().into()),
        };
        b.set_word(word);
        Ok(())
    })
}

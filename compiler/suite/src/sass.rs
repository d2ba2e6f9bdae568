//! The machine code of cubins. Instructions have 16 bytes from sm_70 on, and the low bits of the first two say which
//! operation it is.

/// `ACQBULK`, to which the assembler translates `griddepcontrol.wait`.
const WAIT: u16 = 0x82e;
/// `LD`, `LDG` and `LDGSTS`, which read global memory.
const READS: [u16; 3] = [0x980, 0x981, 0xfae];

/// The operations of a cubin's code: sections whose names begin with `.text`.
pub fn instructions(cubin: &[u8]) -> Vec<u16> {
    let number = |at: usize, size: usize| {
        cubin[at..at + size].iter().rev().fold(0usize, |n, byte| n << 8 | usize::from(*byte))
    };
    let (table, count, strings) = (number(40, 8), number(60, 2), number(62, 2));
    let part = |i: usize| {
        let head = table + 64 * i;
        &cubin[number(head + 24, 8)..][..number(head + 32, 8)]
    };
    let is_code = |i: &usize| part(strings)[number(table + 64 * i, 4)..].starts_with(b".text.");
    let codes = (0..count).filter(is_code).flat_map(|i| part(i).chunks_exact(16));
    codes.map(|code| u16::from_le_bytes([code[0], code[1]]) & 0xfff).collect()
}

/// Whether code that begins before the launch before it ends waits for that one before it reads anything. Reads of
/// arrays that a kernel does not write are no order for the assembler to keep.
pub fn waits_first(cubin: &[u8]) -> bool {
    let code = instructions(cubin);
    let wait = code.iter().position(|op| *op == WAIT);
    wait.is_some_and(|at| !code[..at].iter().any(|op| READS.contains(op)))
}

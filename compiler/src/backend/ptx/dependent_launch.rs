//! Launches that begin while the launch before them on the stream ends (programmatic dependent launch, CUDA
//! Programming Guide; PTX ISA, `griddepcontrol`): the blocks of the next launch take the multiprocessors that become
//! idle, and wait there. Between two launches of a few microseconds this saves half a microsecond.
//!
//! Every kernel waits in its first instruction until the launches before it have completed and their stores are
//! visible, so that order on a stream is as before. Only then it allows the next launch to begin, which happens when
//! the last of its blocks has started. A grid of many blocks does not: their permissions would limit the rate at
//! which blocks start, 0.8 a nanosecond on an H200 where 1.5 can start, and the next launch then begins when the last
//! blocks end.
//!
//! Devices have this from sm_90 on, and most modules are for sm_80 and all later devices. Their text has the
//! instructions as comments; [`for_device`] makes the text that a later device gets.

use crate::kernel::{CLUSTER_CAPABILITY, OLDEST_CAPABILITY};
use std::borrow::Cow;

/// The compute capability of the oldest devices that have dependent launches.
pub const CAPABILITY: u32 = CLUSTER_CAPABILITY;

/// What begins a comment that is code on devices that have dependent launches.
const COMMENT: &str = "// sm_90: ";
const INSTRUCTIONS: [&str; 2] = [
    "griddepcontrol.wait;",
    "{ .reg .pred %few; .reg .b32 %all; mov.u32 %all, %nctaid.x; setp.lt.u32 %few, %all, 4096; \
     @%few griddepcontrol.launch_dependents; }",
];

/// Returns the lines that a kernel for devices from `capability` on begins with.
pub(super) fn lines(capability: u32) -> [String; 2] {
    let comment = if capability < CAPABILITY { COMMENT } else { "" };
    INSTRUCTIONS.map(|instruction| format!("{comment}{instruction}"))
}

/// Returns the text of a module for a device: that for sm_90 if the device has dependent launches and the module is
/// for older devices, too.
///
/// ```
/// use arraygpu_compiler::backend::ptx::dependent_launch::for_device;
/// let text = ".target sm_80\n\t// sm_90: griddepcontrol.wait;\n";
/// assert_eq!(for_device(text, 90), ".target sm_90\n\tgriddepcontrol.wait;\n");
/// assert_eq!(for_device(text, 89), text);
/// ```
pub fn for_device(text: &str, capability: u32) -> Cow<'_, str> {
    if capability < CAPABILITY || !text.contains(COMMENT) {
        return text.into();
    }
    let target = |number| format!(".target sm_{number}\n");
    text.replacen(&target(OLDEST_CAPABILITY), &target(CAPABILITY), 1).replace(COMMENT, "").into()
}

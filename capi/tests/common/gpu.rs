//! The same package for GPUs, with PTX written by hand: one thread for each element, and reductions
//! in one thread.
#![allow(dead_code, reason = "each test program uses its part")]

use super::*;
use std::sync::OnceLock;

/// How the kernels are launched. `scale` writes the variant that ran to its slot: 10 aligned, 11
/// contiguous, 12 any. `turned` writes 11 or 12.
pub const GPU: &str = "
gpu @dot { version dot threads 256 tiles 1 to 2 }
gpu @scale {
  version scale_aligned threads 256 elements 256 contiguous narrow separate aligned 0, 1
  version scale_contiguous threads 256 elements 256 contiguous
  version scale_any threads 256 elements 256
}
gpu @reversed { version reversed threads 128 elements 128 }
gpu @both { version both threads 128 elements 128 }
gpu @gather { version gather threads 128 elements 128 }
gpu @scalars { version scalars threads 32 one }
gpu @last { version last threads 32 one }
gpu @turned {
  version turned_flat threads 128 elements 128 contiguous narrow flat 1
  version turned_any threads 128 elements 128
}
gpu @scaled {
  version scaled_steps threads 256 elements 256 contiguous steps 4 aligned 0, 1
  version scaled_any threads 256 elements 256
}
gpu @reached { version reached threads 32 one }
gpu @doubled {
  version doubled_steps threads 256 elements 256 contiguous steps 4 aligned 0, 1
  version doubled_any threads 256 elements 256
}
";

/// Makes a module with one entry, whose parameters have 8 bytes and a register each. The element's
/// number is in %i.
fn ptx(entry: &str, params: &[&str], body: &str) -> String {
    let list: Vec<_> = params.iter().map(|p| format!(".param .u64 {p}")).collect();
    let registers: Vec<_> = params.iter().map(|p| format!("%{p}")).collect();
    let loads: String = params.iter().map(|p| format!("ld.param.u64 %{p}, [{p}];\n")).collect();
    format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry {entry}({}) {{
.reg .pred %p, %q; .reg .b32 %block, %size, %thread, %w; .reg .f32 %a, %b, %c, %sum, %total;
.reg .b64 %i, %j, %k, %x, %y, %end, {};
	// sm_90: griddepcontrol.wait;
	// sm_90: griddepcontrol.launch_dependents;
{loads}mov.u32 %block, %ctaid.x; mov.u32 %size, %ntid.x; mov.u32 %thread, %tid.x;
mul.wide.u32 %i, %block, %size; cvt.u64.u32 %x, %thread; add.s64 %i, %i, %x;
{body}\ndone: ret;\n}}\n\0",
        list.join(", "),
        registers.join(", "),
    )
}

/// Computes the address of element `index` of the array `base` with `stride` in `to`.
fn at(to: &str, base: &str, index: &str, stride: &str) -> String {
    format!("mul.lo.s64 {to}, {index}, {stride}; mad.lo.s64 {to}, {to}, 4, %{base};\n")
}

fn scale(entry: &str, strides: bool, version: i32) -> String {
    let strided: &[&str] = if strides { &["sx", "sr"] } else { &[] };
    let params = [&["ax", "ar"], strided, &["n", "a_", "slot"]].concat();
    let (sx, sr) = if strides { ("%sx", "%sr") } else { ("1", "1") };
    let body = format!(
        "setp.ge.s64 %p, %i, %n; @%p bra done;
setp.ne.s64 %p, %i, 0; @%p bra go; st.global.u32 [%slot], {version};
go: cvt.u32.u64 %w, %a_; mov.b32 %b, %w; {}ld.global.f32 %a, [%x]; mul.rn.f32 %a, %a, %b; {}st.global.f32 [%y], %a;",
        at("%x", "ax", "%i", sx),
        at("%y", "ar", "%i", sr),
    );
    ptx(entry, &params, &body)
}

/// Several steps of an iteration at once; the last parameter is their number.
fn scaled_steps() -> String {
    let body = format!(
        "setp.ge.s64 %p, %i, %n; @%p bra done;
setp.ne.s64 %p, %i, 0; @%p bra go; st.global.u32 [%slot], 13;
go: cvt.u32.u64 %w, %a_; mov.b32 %b, %w; {}ld.global.f32 %a, [%x]; mov.u64 %j, 0;
again: setp.ge.s64 %p, %j, %steps; @%p bra store; mul.rn.f32 %a, %a, %b; add.s64 %j, %j, 1; bra again;
store: {}st.global.f32 [%y], %a;",
        at("%x", "ax", "%i", "1"),
        at("%y", "ar", "%i", "1"),
    );
    ptx("scaled_steps", &["ax", "ar", "n", "a_", "slot", "steps"], &body)
}

/// Code that ends the thread if the iteration has ended.
const GUARD: &str = "ld.global.s64 %k, [%guard]; setp.ge.s64 %p, %k, 0; @%p bra done;";

fn reached() -> String {
    let body = format!(
        "{GUARD} setp.ne.s64 %p, %i, 0; @%p bra done; ld.global.f32 %a, [%ax]; mov.u64 %k, %turn;
setp.ge.f32 %p, %a, 0f447A0000; @%p bra write; mov.s64 %k, -1; write: st.global.s64 [%ar], %k;"
    );
    ptx("reached", &["ax", "ar", "sx", "sr", "n", "turn", "guard"], &body)
}

/// Steps of an iteration that a check ends: `steps` of them if it is the version of several.
fn doubled(entry: &str, several: bool) -> String {
    let [strided, last]: [&[&str]; 2] = if several { [&[], &["steps"]] } else { [&["sx", "sr"], &[]] };
    let params = [&["ax", "ar"], strided, &["n", "a_", "records", "guard"], last].concat();
    let (sx, sr, steps) = if several { ("1", "1", "%steps") } else { ("%sx", "%sr", "1") };
    let body = format!(
        "{GUARD} setp.ge.s64 %p, %i, %n; @%p bra done; ld.global.f32 %a, [%ax];
setp.lt.f32 %p, %a, 0f477A0000; @%p bra go; mov.u64 %end, %records; {}
go: cvt.u32.u64 %w, %a_; mov.b32 %b, %w; {}ld.global.f32 %a, [%x]; mov.u64 %j, 0;
again: setp.ge.s64 %p, %j, {steps}; @%p bra store; mul.rn.f32 %a, %a, %b; add.s64 %j, %j, 1; bra again;
store: {}st.global.f32 [%y], %a;",
        RECORD.replace("%at", "%end"),
        at("%x", "ax", "%i", sx),
        at("%y", "ar", "%i", sr),
    );
    ptx(entry, &params, &body)
}

/// The strides of matrices are scalars, which all variants have.
fn turned(entry: &str, version: i32) -> String {
    let params = ["aa", "ar", "rows", "columns", "a0", "a1", "r0", "r1", "slot"];
    let place =
        if version == 11 { "mov.u64 %y, %i;" } else { "mul.lo.s64 %y, %j, %r0; mad.lo.s64 %y, %k, %r1, %y;" };
    let body = format!(
        "mul.lo.s64 %x, %rows, %columns; setp.ge.s64 %p, %i, %x; @%p bra done;
setp.ne.s64 %p, %i, 0; @%p bra go; st.global.u32 [%slot], {version};
go: div.s64 %j, %i, %rows; rem.s64 %k, %i, %rows;
mul.lo.s64 %x, %k, %a0; mad.lo.s64 %x, %j, {}, %x; mad.lo.s64 %x, %x, 4, %aa; ld.global.f32 %a, [%x];
{place} mad.lo.s64 %y, %y, 4, %ar; st.global.f32 [%y], %a;",
        if version == 11 { "1" } else { "%a1" },
    );
    ptx(entry, &params, &body)
}

const RECORD: &str = "not.b64 %k, %i; atom.global.max.u64 %k, [%at], %k;";

/// The code of the variants of each kernel.
fn code() -> Vec<Vec<String>> {
    let one = "setp.ne.s64 %p, %i, 0; @%p bra done;";
    let dot = format!(
        "{one} mov.f32 %total, 0f00000000; mov.u64 %j, 0;
tile: setp.ge.s64 %p, %j, %n; @%p bra join; mov.f32 %sum, 0f00000000; add.s64 %end, %j, 2048; min.s64 %end, %end, %n;
next: {}{}ld.global.f32 %a, [%x]; ld.global.f32 %b, [%y]; mul.rn.f32 %a, %a, %b; add.rn.f32 %sum, %sum, %a;
add.s64 %j, %j, 1; setp.lt.s64 %p, %j, %end; @%p bra next; st.global.f32 [%scratch], %sum; ld.global.f32 %sum, [%scratch];
add.rn.f32 %total, %total, %sum; bra tile;
join: ld.global.u32 %w, [%counters]; cvt.rn.f32.u32 %a, %w; add.rn.f32 %total, %total, %a; st.global.f32 [%slot], %total;",
        at("%x", "ax", "%j", "%sx"),
        at("%y", "ay", "%j", "%sy"),
    );
    let guard = "setp.ge.s64 %p, %i, %n; @%p bra done;";
    let reversed = format!(
        "{guard} sub.s64 %j, %n, %i; sub.s64 %j, %j, 1; {}ld.global.f32 %a, [%x]; {}st.global.f32 [%y], %a;",
        at("%x", "ax", "%j", "%sx"),
        at("%y", "ar", "%i", "%sr"),
    );
    let both = format!(
        "{guard} {}ld.global.f32 %a, [%x]; {}ld.global.f32 %b, [%x];
add.rn.f32 %c, %a, %b; {}st.global.f32 [%x], %c; sub.rn.f32 %c, %a, %b; {}st.global.f32 [%x], %c;",
        at("%x", "ax", "%i", "%sx"),
        at("%x", "ay", "%i", "%sy"),
        at("%x", "ap", "%i", "%sp"),
        at("%x", "am", "%i", "%sm"),
    );
    let gather = format!(
        "{guard} add.s64 %j, %i, %shift; mov.f32 %a, 0f00000000;
setp.lt.s64 %p, %j, %n; @%p bra low; mov.u64 %at, %records; {RECORD} bra write;
low: setp.ge.s64 %p, %j, 0; @%p bra read; add.s64 %at, %records, 8; {RECORD} bra write;
read: {}ld.global.f32 %a, [%x];
write: {}st.global.f32 [%y], %a;",
        at("%x", "ax", "%j", "%sx"),
        at("%y", "ar", "%i", "%sr"),
    );
    let gather = gather.replace("%at", "%end");
    let last = format!(
        "{one} sub.s64 %j, %n, 1; {}ld.global.f32 %a, [%x]; st.global.f32 [%slot], %a; mov.u64 %k, 1; st.global.u64 [%order], %k;",
        at("%x", "ax", "%j", "%sx"),
    );
    let scalars = format!("{one} cvt.u32.u64 %w, %value; st.global.u32 [%slot], %w;");
    vec![
        vec![ptx("dot", &["ax", "ay", "sx", "sy", "n", "slot", "scratch", "counters", "tiles_a_warp"], &dot)],
        vec![
            scale("scale_aligned", false, 10),
            scale("scale_contiguous", false, 11),
            scale("scale_any", true, 12),
        ],
        vec![ptx("reversed", &["ax", "ar", "sx", "sr", "n"], &reversed)],
        vec![ptx("both", &["ax", "ay", "ap", "am", "sx", "sy", "sp", "sm", "n"], &both)],
        vec![ptx("gather", &["ax", "ar", "sx", "sr", "n", "shift", "records"], &gather)],
        vec![ptx("scalars", &["value", "slot"], &scalars)],
        vec![ptx("last", &["ax", "sx", "n", "slot", "order"], &last)],
        vec![turned("turned_flat", 11), turned("turned_any", 12)],
        vec![scaled_steps(), scale("scaled_any", true, 12)],
        vec![reached()],
        vec![doubled("doubled_steps", true), doubled("doubled_any", false)],
    ]
}

/// The package with code for CPUs and GPUs.
pub fn module() -> &'static AgpuModule {
    static CELL: OnceLock<AgpuModule> = OnceLock::new();
    CELL.get_or_init(|| with_images(|_| ()))
}

/// Makes a second package with the same functions and changed images.
pub fn with_images(change: impl FnOnce(&mut Vec<AgpuImage>)) -> AgpuModule {
    let mut images = Vec::new();
    for (kernel, versions) in code().into_iter().enumerate() {
        for (version, text) in versions.into_iter().enumerate() {
            let text: &'static str = text.leak();
            images.push(AgpuImage {
                packed: 0,
                base: 0,
                kernel: kernel as i32,
                version: version as i32,
                arch: 0,
                size: text.len() as i64 - 1,
                data: text.as_ptr().cast(),
            });
        }
    }
    change(&mut images);
    let images = images.leak();
    AgpuModule {
        gpu: GPU.as_ptr().cast(),
        gpu_length: GPU.len() as i64,
        images: images.as_ptr(),
        image_count: images.len() as i32,
        state: Box::leak(Box::new(null_mut())),
        ..MODULE
    }
}

/// Calls the package on a stream of a context.
pub fn call_on(context: *mut AgpuContext, stream: *mut c_void, entry: i32, args: &[AgpuArg]) -> AgpuStatus {
    let call = AgpuCall::on(context, stream);
    // SAFETY: it is the package above, with arguments that point at locals of the caller.
    unsafe { agpu_invoke(module(), entry, &call, args.as_ptr(), args.len() as i32) }
}

/// Calls the package in the context of its arrays.
pub fn call(entry: i32, args: &[AgpuArg]) -> AgpuStatus {
    call_on(null_mut(), null_mut(), entry, args)
}

/// Makes a context on a GPU; NULL if there is none.
pub fn gpu() -> *mut AgpuContext {
    let options = AgpuContextOptions { device: AGPU_DEVICE_CUDA, ..AgpuContextOptions::default() };
    let mut context = null_mut();
    // SAFETY: the pointers are to locals.
    match unsafe { agpu_context_create(&options, &mut context) } {
        AgpuOk => context,
        status => {
            assert_eq!(status, AgpuErrorUnavailable, "{}", message());
            null_mut()
        }
    }
}

//! A context, arrays on its device, and calls of a function.

use crate::array::Array;
use crate::kind::Kind;
use crate::package::{Function, Package};
use crate::problem::{Problem, Result, failure, usage};
use crate::profile::Launch;
use crate::runtime::Runtime;
use crate::summary::checksum;
use arraygpu_capi::abi::*;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

/// A device with its runtime.
pub struct Device<'a> {
    /// The library.
    pub runtime: &'a Runtime,
    context: *mut AgpuContext,
    /// The device's name.
    pub name: String,
    /// Whether it is a GPU.
    pub is_gpu: bool,
    /// How many threads of the CPU compute.
    pub threads: i32,
}

/// Reads `cpu`, `cuda` or `cuda:N`.
pub fn device_number(text: &str) -> Result<i32> {
    let number = match text.split_once(':') {
        None if text == "cpu" => Some(AGPU_DEVICE_CPU),
        None if text == "cuda" => Some(AGPU_DEVICE_CUDA),
        Some(("cuda", n)) => n.parse::<u16>().ok().map(|n| AGPU_DEVICE_CUDA + i32::from(n)),
        _ => None,
    };
    number.ok_or_else(|| usage(format!("--device {text}: cpu, cuda or cuda:N is expected")))
}

fn older() -> Problem {
    failure("this libarraygpu does not time launches; install a newer one")
}

impl<'a> Device<'a> {
    /// Opens a device, or the default one.
    pub fn open(runtime: &'a Runtime, device: Option<i32>, threads: i32) -> Result<Device<'a>> {
        let device = device.unwrap_or(AGPU_DEVICE_DEFAULT);
        let options = AgpuContextOptions { device, threads, ..AgpuContextOptions::default() };
        let (mut context, mut name, mut number, mut threads) = (null_mut(), null(), 0, 0);
        // SAFETY: the options and out-pointers are locals, and the name is a C string that stays.
        unsafe {
            runtime.check((runtime.context_create)(&options, &mut context))?;
            runtime.check((runtime.context_device_name)(context, &mut name))?;
            runtime.check((runtime.context_device)(context, &mut number))?;
            runtime.check((runtime.context_threads)(context, &mut threads))?;
            let name = CStr::from_ptr(name).to_string_lossy().into_owned();
            Ok(Device { runtime, context, name, is_gpu: number >= AGPU_DEVICE_CUDA, threads })
        }
    }

    /// Waits until all is done.
    pub fn wait(&self) -> Result<()> {
        // SAFETY: the handle is checked.
        self.runtime.check(unsafe { (self.runtime.context_synchronize)(self.context) })
    }

    /// Starts or ends the timing of launches.
    pub fn profile(&self, on: bool) -> Result<()> {
        let profile = self.runtime.profile.ok_or_else(older)?;
        // SAFETY: the handle is checked.
        self.runtime.check(unsafe { profile(self.context, on) })
    }

    /// Waits, and returns the launches since their timing was started.
    pub fn launch_times(&self) -> Result<Vec<Launch>> {
        let (times, mut count) = (self.runtime.launch_times.ok_or_else(older)?, 0);
        // SAFETY: the out-pointer is to a local, and there is no room for times.
        self.runtime.check(unsafe { times(self.context, null_mut(), 0, &mut count) })?;
        let none = AgpuLaunchTime {
            kernel: null(),
            variant: null(),
            start: 0.0,
            seconds: 0.0,
            sizes: null(),
            reserved: [0; 3],
        };
        let mut room = vec![none; count as usize];
        // SAFETY: there is room for as many.
        self.runtime.check(unsafe { times(self.context, room.as_mut_ptr(), count, &mut count) })?;
        let launch = |t: &AgpuLaunchTime| {
            // SAFETY: the library wrote C strings, which live until the next call of this function.
            let [kernel, variant] = [t.kernel, t.variant]
                .map(|name| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
            // earlier libraries have none
            let sizes = if t.sizes.is_null() {
                String::new()
            } else {
                // SAFETY: as above.
                unsafe { CStr::from_ptr(t.sizes) }.to_string_lossy().into_owned()
            };
            Launch { kernel, variant, sizes, start: t.start, seconds: t.seconds }
        };
        Ok(room.iter().map(launch).collect())
    }

    /// Returns how many kernels were launched so far.
    pub fn launches(&self) -> Result<i64> {
        let mut launches = 0;
        // SAFETY: the out-pointer is to a local.
        self.runtime.check(unsafe { (self.runtime.context_launches)(self.context, &mut launches) })?;
        Ok(launches)
    }
}

/// A buffer of the device, freed with this.
pub struct Buffer<'a> {
    runtime: &'a Runtime,
    handle: *mut AgpuBuffer,
    view: AgpuView,
}

impl<'a> Buffer<'a> {
    /// Makes an array of zeros.
    pub fn zeros(device: &Device<'a>, kind: Kind, extents: &[i64]) -> Result<Buffer<'a>> {
        let (runtime, mut handle) = (device.runtime, null_mut());
        let rank = extents.len() as i32;
        // SAFETY: extents and out-pointer live during the call.
        runtime.check(unsafe {
            (runtime.buffer_create_array)(device.context, kind.abi(), rank, extents.as_ptr(), &mut handle)
        })?;
        Buffer::of(runtime, handle)
    }

    /// Makes a copy of an array.
    pub fn upload(device: &Device<'a>, array: &Array) -> Result<Buffer<'a>> {
        let buffer = Buffer::zeros(device, array.kind, &array.extents)?;
        let (data, count) = (array.bytes.as_ptr().cast(), array.count() as i64);
        // SAFETY: the array has that many elements of the buffer's type.
        buffer.runtime.check(unsafe { (buffer.runtime.copy_from_host)(buffer.view, data, count) })?;
        Ok(buffer)
    }

    fn of(runtime: &'a Runtime, handle: *mut AgpuBuffer) -> Result<Buffer<'a>> {
        let mut buffer = Buffer { runtime, handle, view: AgpuView::new(handle, 0, &[], &[]) };
        // SAFETY: the out-pointer is to a local.
        runtime.check(unsafe { (runtime.buffer_view)(handle, &mut buffer.view) })?;
        Ok(buffer)
    }

    /// Copies the array to the host.
    pub fn download(&self, kind: Kind) -> Result<Array> {
        let mut array = Array::zeros(kind, &self.view.extent[..self.view.rank as usize])?;
        let (data, count) = (array.bytes.as_mut_ptr().cast(), array.count() as i64);
        // SAFETY: the array has room for that many elements of the buffer's type.
        self.runtime.check(unsafe { (self.runtime.copy_to_host)(data, self.view, count) })?;
        Ok(array)
    }

    /// Sets all elements, of whatever type, to some bits.
    fn overwrite(&self) -> Result<()> {
        let bits = [0x5a_u8; 8];
        // SAFETY: no element has more bytes.
        self.runtime.check(unsafe { (self.runtime.fill)(self.view, bits.as_ptr().cast()) })
    }

    /// Copies another buffer of bytes here.
    pub fn copy_from(&self, other: &Buffer) -> Result<()> {
        // SAFETY: handles are checked, as are extents.
        self.runtime.check(unsafe { (self.runtime.copy)(self.view, other.view) })
    }

    /// Sets all bytes of a buffer of bytes.
    pub fn fill(&self, byte: u8) -> Result<()> {
        // SAFETY: the value is one element.
        self.runtime.check(unsafe { (self.runtime.fill)(self.view, (&raw const byte).cast()) })
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is checked. A failure at the end changes nothing for the user.
        unsafe { (self.runtime.buffer_free)(self.handle) };
    }
}

/// A function with its arguments on a device.
pub struct Call<'a> {
    device: &'a Device<'a>,
    package: &'a Package,
    function: &'a Function,
    /// The bits of scalar parameters, in the low bytes.
    scalars: Vec<u64>,
    inputs: Vec<Option<Buffer<'a>>>,
    /// Results of later calls, which are made by the first; scalars are arrays of one element.
    outputs: Vec<Buffer<'a>>,
    args: Vec<AgpuArg>,
}

impl<'a> Call<'a> {
    /// Copies the parameters' values to the device.
    pub fn new(
        device: &'a Device<'a>,
        package: &'a Package,
        function: &'a Function,
        values: &[Array],
    ) -> Result<Call<'a>> {
        let bits = |v: &Array| {
            let mut word = [0; 8];
            if v.extents.is_empty() {
                word[..v.bytes.len()].copy_from_slice(&v.bytes);
            }
            u64::from_le_bytes(word)
        };
        let upload = |v: &Array| (!v.extents.is_empty()).then(|| Buffer::upload(device, v)).transpose();
        Ok(Call {
            scalars: values.iter().map(bits).collect(),
            inputs: values.iter().map(upload).collect::<Result<_>>()?,
            outputs: Vec::new(),
            args: Vec::new(),
            device,
            package,
            function,
        })
    }

    fn params(&self) -> Vec<AgpuArg> {
        let arg = |(input, word): (&Option<Buffer>, &u64)| match input {
            Some(buffer) => AgpuArg { view: buffer.view, ..AgpuArg::new(AgpuArgKind::AgpuArgView) },
            None => AgpuArg { scalar: (&raw const *word).cast(), ..AgpuArg::new(AgpuArgKind::AgpuArgScalar) },
        };
        self.inputs.iter().zip(&self.scalars).map(arg).collect()
    }

    fn invoke(&self, args: &[AgpuArg]) -> Result<()> {
        let options = AgpuCall::on(self.device.context, null_mut());
        let runtime = self.device.runtime;
        // SAFETY: the arguments are those of the function's signature; what they point at lives in
        // `self` or in the caller.
        runtime.check(unsafe {
            let (module, number) = (self.package.module, self.function.number);
            (runtime.invoke)(module, number, &options, args.as_ptr(), args.len() as i32)
        })
    }

    /// Calls the function once, and gives its results. Array results are made by the call.
    pub fn first(&mut self) -> Result<Vec<Array>> {
        let results = &self.function.results;
        let words: Vec<UnsafeCell<u64>> = results.iter().map(|_| UnsafeCell::new(0)).collect();
        let mut made: Vec<*mut AgpuBuffer> = vec![null_mut(); results.len()];
        let mut args = self.params();
        for ((slot, word), made) in results.iter().zip(&words).zip(&mut made) {
            args.push(match slot.rank {
                0 => AgpuArg { scalar: word.get().cast(), ..AgpuArg::new(AgpuArgKind::AgpuArgResultScalar) },
                _ => AgpuArg { made, ..AgpuArg::new(AgpuArgKind::AgpuArgResultNew) },
            });
        }
        self.invoke(&args)?;
        self.device.wait()?;
        let mut values = Vec::new();
        for ((slot, word), made) in results.iter().zip(words).zip(made) {
            if slot.rank == 0 {
                let bytes = word.into_inner().to_le_bytes()[..slot.kind.size()].to_vec();
                values.push(Array { kind: slot.kind, extents: vec![], bytes });
                self.outputs.push(Buffer::zeros(self.device, slot.kind, &[1])?);
            } else {
                let buffer = Buffer::of(self.device.runtime, made)?;
                values.push(buffer.download(slot.kind)?);
                self.outputs.push(buffer);
            }
        }
        self.args = self.params();
        let result = |b: &Buffer| AgpuArg { view: b.view, ..AgpuArg::new(AgpuArgKind::AgpuArgResultView) };
        self.args.extend(self.outputs.iter().map(result));
        Ok(values)
    }

    /// Returns the checksums of the results of the last call.
    pub fn checksums(&self) -> Result<Vec<String>> {
        let results = self.function.results.iter().zip(&self.outputs);
        results.map(|(slot, buffer)| buffer.download(slot.kind).map(|array| checksum(&array))).collect()
    }

    /// Destroys the results of the last call, so that the next one has to write them.
    pub fn overwrite(&self) -> Result<()> {
        self.outputs.iter().try_for_each(Buffer::overwrite)
    }

    /// Calls the function again, with results in the same places on the device; on a GPU it returns
    /// when the work is queued.
    pub fn again(&self) -> Result<()> {
        if self.args.is_empty() {
            return Err(failure("the first call comes first"));
        }
        self.invoke(&self.args)
    }
}

//! Measures the variants of the launches of a call, by tuning files that name one variant after another: what the
//! runtime then runs is what it would run for a user's file, guards included.

use crate::benchmark::{BATCH, Times, in_time, run, times, warm_up};
use crate::call::{Call, Device};
use crate::problem::{Result, failure};
use crate::profile::Launch;
use arraygpu_compiler::plan::gpu::GpuKernel;
use arraygpu_compiler::plan::tuning::{Line, Runs, Section, SizeClass};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How much faster than the launch policy's choice a variant has to be, so that a file names it.
pub const LEAST_GAIN: f64 = 1.02;
/// A variant with which all launches of the first call together take so many times as long as with the policy's, and
/// so many seconds more, is not measured.
const HOPELESS: f64 = 3.0;
const SHORT: f64 = 20e-6;

/// What was measured of one kernel for one class of sizes.
pub struct Spot {
    /// The kernel's name.
    pub kernel: String,
    /// The sizes of its launches.
    pub sizes: SizeClass,
    /// The variants that ran without a file; none if the launches ran that the kernel may replace.
    pub own: Vec<String>,
    /// Times of a call as the policy has it.
    pub policy: Times,
    /// Times of a call with each other variant, the fastest first.
    pub others: Vec<(Runs, Times)>,
    /// How many variants are slower by far.
    pub hopeless: usize,
    /// What the file says, if something is faster than the policy's choice.
    pub line: Option<Line>,
}

/// What was measured of one call.
pub struct Tuned {
    /// The kernels of which there was a choice.
    pub spots: Vec<Spot>,
    /// Times of the call as the policy has it, and with all lines.
    pub policy: Times,
    /// The latter, if there are any.
    pub tuned: Option<Times>,
    /// What was found on the way that a user should know.
    pub remarks: Vec<String>,
}

/// Measures on one device, for one package.
pub struct Tuner<'a> {
    /// The device.
    pub device: &'a Device<'a>,
    /// The section of the files, without lines.
    pub section: Section,
    /// The file by which the library is told what to run.
    pub file: PathBuf,
    /// How often each variant is measured.
    pub repetitions: u32,
}

/// A kernel and a class of sizes.
type Key = (String, SizeClass);

/// The launches of a call.
#[derive(Default)]
struct Ran {
    variants: BTreeMap<Key, Vec<String>>,
    /// The time of all of them.
    seconds: f64,
}

/// What can run in place of the policy's choice.
#[derive(Default)]
struct Candidates {
    runs: Vec<Runs>,
    hopeless: usize,
}

/// Whether something is faster than the policy's choice, and not by chance: no batch with it was as slow as the
/// policy's usual ones, and no batch of the policy's as fast as the usual ones with it.
fn is_faster(policy: &Times, other: &Times) -> bool {
    policy.median >= LEAST_GAIN * other.median && other.most < policy.median && other.median < policy.least
}

impl Tuner<'_> {
    /// Lets calls run these variants; without any, what the policy chooses.
    fn load(&self, lines: &[Line]) -> Result<()> {
        let section = Section { lines: lines.to_vec(), ..self.section.clone() };
        let shown = self.file.display();
        std::fs::write(&self.file, section.to_string())
            .map_err(|e| failure(format!("{shown}: cannot be written: {e}")))?;
        self.device.runtime.load_tuning(&self.file)
    }

    /// Calls once, and returns what ran.
    fn ran(&self, call: &Call, lines: &[Line]) -> Result<Ran> {
        self.load(lines)?;
        self.device.profile(true)?;
        let done = call.again().and_then(|()| self.device.launch_times());
        self.device.profile(false)?;
        let mut ran = Ran::default();
        for Launch { kernel, variant, sizes, seconds, .. } in done? {
            let sizes = SizeClass::parse(&sizes).map_err(|_| {
                failure("this libarraygpu does not tell sizes of launches; install a newer one")
            })?;
            ran.seconds += seconds;
            let variants = ran.variants.entry((kernel, sizes)).or_default();
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        Ok(ran)
    }

    /// Measures a call that was made once, whose function has these kernels.
    pub fn tune(&self, call: &Call, kernels: &[&GpuKernel]) -> Result<Tuned> {
        // a variant that does not write an element leaves the same bits there as the policy's choice
        call.overwrite()?;
        let own = self.ran(call, &[])?;
        let wanted = call.checksums()?;
        let mut remarks = Vec::new();
        let candidates = self.candidates(call, kernels, (&own, &wanted), &mut remarks)?;
        self.load(&[])?;
        warm_up(self.device, || call.again())?;
        let (mut spots, mut lines) = (Vec::new(), Vec::new());
        for (key, candidates) in candidates {
            let own = own.variants.get(&key).cloned().unwrap_or_default();
            // the one that the policy chose, without what is launched behind it
            let first =
                kernels.iter().flat_map(|k| &k.variants).filter(|v| v.is_first() && own.contains(&v.entry));
            let mut first: Vec<&str> = first.map(|v| v.entry.as_str()).collect();
            first.dedup();
            let forced = if let [entry] = first[..] { Some(Runs::Variant(entry.into())) } else { None };
            let spot = self.spot(call, key, (own, forced), candidates, &lines)?;
            lines.extend(spot.line.clone());
            spots.push(spot);
        }
        let ([policy, tuned], has_lines) = (self.compare(call, [&[], &lines])?, !lines.is_empty());
        Ok(Tuned { spots, policy, tuned: has_lines.then_some(tuned), remarks })
    }

    /// Finds what can run in place of the policy's choices: calls with each variant of each kernel, for all sizes.
    fn candidates(
        &self,
        call: &Call,
        kernels: &[&GpuKernel],
        (own, wanted): (&Ran, &[String]),
        remarks: &mut Vec<String>,
    ) -> Result<BTreeMap<Key, Candidates>> {
        let mut found: BTreeMap<Key, Candidates> = BTreeMap::new();
        for kernel in kernels {
            let line = |runs| Line { kernel: kernel.name.clone(), sizes: None, runs, note: String::new() };
            let mut same_bits = true;
            for v in kernel.variants.iter().filter(|v| v.is_first()) {
                let runs = Runs::Variant(v.entry.clone());
                call.overwrite()?;
                // what has no memory, for instance, cannot run
                let Ok(ran) = self.ran(call, &[line(runs.clone())]) else { continue };
                if call.checksums()? != wanted {
                    same_bits = false;
                    break;
                }
                let is_hopeless = ran.seconds > HOPELESS * own.seconds + SHORT;
                for (key, variants) in ran.variants.into_iter().filter(|((k, _), _)| *k == kernel.name) {
                    let is_own = own.variants.get(&key) == Some(&variants);
                    let candidates = found.entry(key).or_default();
                    if !variants.contains(&v.entry) || is_own || candidates.runs.contains(&runs) {
                        continue;
                    }
                    match is_hopeless {
                        true => candidates.hopeless += 1,
                        false => candidates.runs.push(runs.clone()),
                    }
                }
            }
            if !same_bits {
                let name = &kernel.name;
                remarks.push(format!(
                    "{name} is not tuned: its variants differ in bits, as those of tensor cores do"
                ));
                found.retain(|(k, _), _| k != name);
                continue;
            }
            let of_kernel = |ran: &Ran| ran.variants.keys().any(|(k, _)| *k == kernel.name);
            if of_kernel(own) && !of_kernel(&self.ran(call, &[line(Runs::Others)])?) {
                for spot in own.variants.keys().filter(|(k, _)| *k == kernel.name) {
                    found.entry(spot.clone()).or_default().runs.push(Runs::Others);
                }
            }
        }
        found.retain(|_, candidates| !candidates.runs.is_empty());
        Ok(found)
    }

    /// Measures what can run for one kernel and one class of sizes, given what was chosen before. The policy's choice
    /// is `forced` by a line, too, if it is one variant: the host finds a variant of a line sooner than one without.
    fn spot(
        &self,
        call: &Call,
        (kernel, sizes): Key,
        (own, forced): (Vec<String>, Option<Runs>),
        candidates: Candidates,
        before: &[Line],
    ) -> Result<Spot> {
        let Candidates { runs, hopeless } = candidates;
        let line = |runs: &Runs, note| Line {
            kernel: kernel.clone(),
            sizes: Some(sizes.clone()),
            runs: runs.clone(),
            note,
        };
        let with = |runs: Option<&Runs>| [before, runs.map(|r| line(r, String::new())).as_slice()].concat();
        let policy = with(forced.as_ref());
        let mut lists = vec![policy.clone()];
        lists.extend(runs.iter().map(|r| with(Some(r))));
        let mut all = self.measure(call, &lists)?.into_iter();
        let first = all.next().ok_or_else(|| failure("nothing was measured"))?;
        let mut others: Vec<(Runs, Times)> = runs.into_iter().zip(all).collect();
        others.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
        let (kernel_name, class) = (kernel.clone(), sizes.clone());
        let mut spot =
            Spot { kernel: kernel_name, sizes: class, own, policy: first, others, hopeless, line: None };
        let best = spot.others.first().filter(|(_, t)| is_faster(&spot.policy, t)).map(|(r, _)| r.clone());
        // the fastest of several was lucky, perhaps: it has to be faster once more
        if let Some(best) = best {
            let [policy, other] = self.compare(call, [&policy, &with(Some(&best))])?;
            if is_faster(&policy, &other) {
                let own = if spot.own.is_empty() { "others".to_string() } else { spot.own.join(", ") };
                let us = |t: &Times| format!("{:.2} us", t.median * 1e6);
                let note = format!("{} a call, {} by {own}", us(&other), us(&policy));
                spot.line = Some(line(&best, note));
            }
        }
        Ok(spot)
    }

    fn compare(&self, call: &Call, [a, b]: [&[Line]; 2]) -> Result<[Times; 2]> {
        let both = self.measure(call, &[a.to_vec(), b.to_vec()])?;
        Ok([both[0], both[1]])
    }

    /// Measures calls under each list of lines in turn, so that a clock that changes meets all of them.
    fn measure(&self, call: &Call, lists: &[Vec<Line>]) -> Result<Vec<Times>> {
        let again = || call.again();
        let mut seconds: Vec<Vec<f64>> = vec![Vec::new(); lists.len()];
        for _ in 0..self.repetitions {
            for (i, list) in lists.iter().enumerate() {
                let known = seconds[i].last().copied();
                self.load(list)?;
                // the first call reads the file and loads code
                run(self.device, 1, again)?;
                let each = match known {
                    Some(known) => known,
                    None => run(self.device, 3, again)?,
                };
                seconds[i].push(run(self.device, in_time(each, BATCH), again)?);
            }
        }
        Ok(seconds.into_iter().map(times).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{Times, is_faster};

    #[test]
    fn what_varies_more_than_it_gains_is_not_faster() {
        let times = |least, median, most| Times { median, least, most };
        let policy = times(11.0, 12.5, 13.2);
        assert!(is_faster(&policy, &times(9.0, 10.0, 12.0)));
        // a batch of the policy's was as fast, one of the other's as slow
        assert!(!is_faster(&policy, &times(9.0, 11.1, 12.0)));
        assert!(!is_faster(&policy, &times(9.0, 10.0, 12.6)));
        assert!(!is_faster(&times(10.0, 10.0, 10.0), &times(9.9, 9.9, 9.9)));
    }
}

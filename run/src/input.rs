//! What a user gives for a parameter: `NAME=VALUE`.

use crate::array::{Array, extents, show};
use crate::file::{self, Change};
use crate::kind::{Kind, Number};
use crate::problem::{Problem, Result, failure, unknown, usage};
use crate::random::{self, Range};
use crate::slot::{Slot, described};

/// The forms of arrays, for messages.
const FORMS: &str = "zero:EXTENTS, iota:EXTENTS, fill:VALUE:EXTENTS, random:SEED:EXTENTS[:LOW:HIGH] \
                     (EXTENTS such as 2^20, 1024x512), or a file (.npy, .csv, .png, .pgm, .ppm)";

/// Makes the values of all parameters, in their order, from what the user gave.
pub fn all(slots: &[Slot], given: &[String], function: &str) -> Result<Vec<Array>> {
    let mut values: Vec<Option<&str>> = vec![None; slots.len()];
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            return Err(usage(format!("`{text}`: NAME=VALUE is expected")));
        };
        let Some(i) = slots.iter().position(|s| s.name == name) else {
            let names = slots.iter().map(|s| s.name.as_str());
            return Err(unknown(&format!("parameter of {function}"), name, names));
        };
        if values[i].replace(value).is_some() {
            return Err(usage(format!("`{name}` is given twice")));
        }
    }
    let missing: Vec<String> =
        slots.iter().zip(&values).filter(|(_, v)| v.is_none()).map(|(s, _)| s.to_string()).collect();
    if !missing.is_empty() {
        let takes = if slots.iter().zip(&values).any(|(s, v)| v.is_none() && s.rank > 0) {
            format!("\narrays are {FORMS}")
        } else {
            String::new()
        };
        return Err(usage(format!("{function} needs {}{takes}", missing.join(", "))));
    }
    slots.iter().zip(values).map(|(slot, value)| one(slot, value.unwrap_or_default())).collect()
}

/// Makes the value of one parameter.
pub fn one(slot: &Slot, text: &str) -> Result<Array> {
    let (form, rest) = text.split_once(':').unwrap_or((text, ""));
    match form {
        "zero" => Array::zeros(slot.kind, &shape(slot, text, rest)?),
        "iota" => {
            let element = |i: u64| {
                let bits = slot.kind.bits(Number::Int(i.into()));
                bits.ok_or_else(|| wrong(slot, text, &format!("{i} is no {}", slot.kind)))
            };
            Array::generate(slot.kind, &shape(slot, text, rest)?, element)
        }
        "fill" => {
            let (value, extents) =
                rest.split_once(':').ok_or_else(|| wrong(slot, text, "fill:VALUE:EXTENTS is expected"))?;
            let bits = scalar(slot, text, value)?;
            Array::generate(slot.kind, &shape(slot, text, extents)?, |_| Ok(bits))
        }
        "random" => random(slot, text, rest),
        _ if file::is_known(text) => of_file(slot, text),
        _ if slot.rank == 0 => {
            let bits = scalar(slot, text, text)?;
            Array::generate(slot.kind, &[], |_| Ok(bits))
        }
        _ => Err(wrong(slot, text, &format!("an array is {FORMS}"))),
    }
}

/// Says what is wrong with a value, and what its parameter is.
fn wrong(slot: &Slot, text: &str, why: &str) -> Problem {
    usage(format!("{}={text}: {why} (`{}` is: {})", slot.name, slot.name, slot.describe()))
}

fn scalar(slot: &Slot, text: &str, value: &str) -> Result<[u8; 8]> {
    let kind = slot.kind;
    kind.parse(value).ok_or_else(|| match kind.range() {
        Some((least, greatest)) if kind != Kind::Bool => {
            wrong(slot, text, &format!("`{value}` is no {kind}, a whole number from {least} to {greatest}"))
        }
        Some(_) => wrong(slot, text, &format!("`{value}` is no bool: true or false")),
        None => wrong(slot, text, &format!("`{value}` is no {kind}, such as 1.5, 1e-3, nan or -inf")),
    })
}

/// Reads extents that have the parameter's rank.
fn shape(slot: &Slot, text: &str, extents_text: &str) -> Result<Vec<i64>> {
    let extents = extents(extents_text).ok_or_else(|| {
        wrong(slot, text, &format!("`{extents_text}` are no extents, such as 1000, 2^20 or 1024x512"))
    })?;
    match (extents.len() == slot.rank, slot.rank) {
        (true, _) => Ok(extents),
        (false, 0) => Err(wrong(slot, text, "a scalar is one value, such as 1.5")),
        (false, rank) => {
            Err(wrong(slot, text, &format!("{} has {} extents, not {rank}", show(&extents), extents.len())))
        }
    }
}

fn random(slot: &Slot, text: &str, rest: &str) -> Result<Array> {
    let parts: Vec<&str> = rest.split(':').collect();
    let ([seed, extents] | [seed, extents, _, _]) = parts[..] else {
        return Err(wrong(slot, text, "random:SEED:EXTENTS or random:SEED:EXTENTS:LOW:HIGH is expected"));
    };
    let seed: u64 =
        seed.parse().map_err(|_| wrong(slot, text, &format!("the seed `{seed}` is no whole number")))?;
    let extents = shape(slot, text, extents)?;
    let range = match parts[..] {
        [_, _, low, high] => {
            let [low, high] =
                [scalar(slot, text, low)?, scalar(slot, text, high)?].map(|b| slot.kind.number(&b));
            let range = match (low, high) {
                (Number::Int(low), Number::Int(high)) if low <= high => Some(Range::Ints(low, high)),
                (Number::Float(low), Number::Float(high)) if low <= high && (high - low).is_finite() => {
                    Some(Range::Floats(low, high))
                }
                _ => None,
            };
            range.ok_or_else(|| wrong(slot, text, "LOW is at most HIGH, and both are finite"))?
        }
        _ => Range::whole(slot.kind),
    };
    Array::generate(slot.kind, &extents, |i| {
        // a value of the range is one of the type
        Ok(slot.kind.bits(random::number(slot.kind, range, random::word(seed, i))).unwrap_or_default())
    })
}

fn of_file(slot: &Slot, text: &str) -> Result<Array> {
    let (path, change) = file::changed(text);
    let (array, full) = file::read(path, slot.kind, slot.rank)?;
    if array.extents.len() != slot.rank {
        let has = if array.extents.is_empty() {
            "a scalar".into()
        } else {
            arraygpu_compiler::counted(show(&array.extents), "element").to_string()
        };
        return Err(failure(format!("{path}: it has {has}, `{}` is: {}", slot.name, slot.describe())));
    }
    match change {
        None if array.kind == slot.kind => Ok(array),
        None => Err(failure(of_another_kind(slot, path, &array))),
        Some(Change::As) => array.convert(slot.kind, path, |n| n),
        Some(Change::Scale) if slot.kind.precision().is_none() => {
            Err(wrong(slot, text, "`:scale` makes floats from 0 to 1"))
        }
        Some(Change::Scale) => {
            let full = full.or(array.kind.range().map(|(_, most)| most as f64)).unwrap_or(1.0);
            array.convert(slot.kind, path, |n| Number::Float(n.to_f64() / full))
        }
    }
}

fn of_another_kind(slot: &Slot, path: &str, array: &Array) -> String {
    let has = described(array.kind, array.extents.len());
    let mut text = format!("{path}: it is a {has}, `{}` is: {}\n", slot.name, slot.describe());
    if path.ends_with(".npy") && slot.kind != Kind::Bf16 {
        text += &format!("in Python: numpy.save(\"{path}\", a.astype(numpy.{}))\n", slot.kind.numpy());
    }
    text += &format!("{}={path}:as takes the same numbers", slot.name);
    if slot.kind.precision().is_some() && array.kind.range().is_some() {
        text += &format!(", {}={path}:scale 0 to 1", slot.name);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: Kind, rank: usize) -> Slot {
        Slot { name: "x".into(), kind, rank }
    }

    fn texts(array: &Array) -> Vec<String> {
        array.elements().map(|e| array.kind.text(e)).collect()
    }

    #[test]
    fn every_form_makes_its_array() {
        let made = |kind, rank, text: &str| texts(&one(&slot(kind, rank), text).unwrap());
        assert_eq!(made(Kind::F32, 1, "zero:3"), ["0.0", "0.0", "0.0"]);
        assert_eq!(made(Kind::F16, 2, "iota:2x2"), ["0.0", "1.0", "2.0", "3.0"]);
        assert_eq!(made(Kind::I8, 1, "fill:-7:2"), ["-7", "-7"]);
        assert_eq!(made(Kind::F64, 0, "nan"), ["NaN"]);
        assert_eq!(made(Kind::Bool, 0, "true"), ["true"]);
        assert_eq!(made(Kind::F32, 0, "-1.5"), ["-1.5"]);
        let integers = made(Kind::U8, 3, "random:1:5x4x3:10:12");
        assert!(integers.len() == 60 && ["10", "11", "12"].iter().all(|n| integers.contains(&n.to_string())));
    }

    #[test]
    fn random_elements_never_change() {
        // computed by another program
        let made = |kind, text: &str| texts(&one(&slot(kind, 1), text).unwrap());
        assert_eq!(made(Kind::F32, "random:1:3"), ["0.5665615", "0.7457817", "0.9710027"]);
        assert_eq!(made(Kind::F64, "random:1:2:-1:1"), ["0.1331231503445618", "0.49156351452540226"]);
        assert_eq!(made(Kind::I64, "random:7:2"), ["-2032282435962401321", "-8913682664259820004"]);
        assert_eq!(made(Kind::U8, "random:1:4"), ["145", "190", "248", "113"]);
    }

    #[test]
    fn values_that_are_wrong_say_what_is_expected() {
        let error = |kind, rank, text: &str| one(&slot(kind, rank), text).unwrap_err().text;
        assert_eq!(
            error(Kind::F32, 1, "random:1:4x4"),
            "x=random:1:4x4: 4x4 has 2 extents, not 1 (`x` is: f32 vector)"
        );
        assert!(error(Kind::F32, 1, "1.5").contains("an array is zero:EXTENTS"));
        assert!(error(Kind::U8, 0, "256").contains("`256` is no u8, a whole number from 0 to 255"));
        assert!(error(Kind::Bool, 0, "yes").contains("true or false"));
        assert!(error(Kind::F32, 0, "zero:3").contains("a scalar is one value"));
        assert!(error(Kind::U8, 1, "iota:300").contains("256 is no u8"));
        assert!(error(Kind::F16, 1, "iota:70000").contains("65520 is no f16"));
        assert!(error(Kind::F32, 1, "random:x:3").contains("the seed `x`"));
        assert!(error(Kind::F32, 1, "random:1:3:2:1").contains("LOW is at most HIGH"));
        assert!(error(Kind::F32, 1, "random:1:3:0:inf").contains("both are finite"));
        assert!(error(Kind::F32, 1, "fill:1").contains("fill:VALUE:EXTENTS"));
        assert!(error(Kind::F32, 1, "zero:2^99").contains("`2^99` are no extents"));
        assert!(error(Kind::F32, 1, "none.npy").starts_with("none.npy: "));
    }

    #[test]
    fn parameters_that_are_missing_or_unknown() {
        let slots = [slot(Kind::F32, 1), Slot { name: "scale".into(), kind: Kind::F32, rank: 0 }];
        let error = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|g| g.to_string()).collect();
            let problem = all(&slots, &given, "f").unwrap_err();
            assert_eq!(problem.exit, 2);
            problem.text
        };
        assert_eq!(error(&["x=zero:1"]), "f needs scale: f32");
        assert!(error(&["scale=1"]).starts_with("f needs x: f32 vector\narrays are zero:EXTENTS"));
        assert!(
            error(&["x=zero:1", "scal=1"]).starts_with("no parameter of f `scal`; did you mean `scale`?")
        );
        assert_eq!(error(&["x=zero:1", "x=zero:1"]), "`x` is given twice");
        assert_eq!(error(&["zero:1"]), "`zero:1`: NAME=VALUE is expected");
    }
}

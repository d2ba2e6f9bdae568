//! Names of registers. A kernel has hundreds of registers, and most names are never printed, so a name is stored as
//! its parts: a text, a number and a suffix.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

/// The name of a register: a text, and the number and suffix that are printed behind it.
#[derive(Clone, Debug)]
pub struct Name {
    text: Cow<'static, str>,
    number: Option<u32>,
    /// Whether it names the low 32 bits of another register.
    low: bool,
}

impl Name {
    /// Makes a name from a text and a number. The text consists of letters only, so it cannot equal
    /// other names, which contain an underscore ([`super::verify`]).
    pub fn numbered(text: &'static str, number: u32) -> Name {
        debug_assert!(text.bytes().all(|b| b.is_ascii_alphabetic()), "{text}");
        Name { text: text.into(), number: Some(number), low: false }
    }

    /// Returns the name with another number.
    pub fn with_number(&self, number: u32) -> Name {
        // if the name was read from a text, its number is part of that text
        let text = match &self.text {
            Cow::Owned(text) if self.number.is_none() => {
                text.trim_end_matches(|c: char| c.is_ascii_digit()).to_string().into()
            }
            text => text.clone(),
        };
        Name { text, number: Some(number), low: self.low }
    }

    /// Writes the name.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str(&self.text)?;
        if let Some(number) = self.number {
            write_decimal(out, number.into())?;
        }
        if self.low { out.write_str("_32") } else { Ok(()) }
    }

    /// Returns the text and the number, if the name consists of exactly these.
    pub fn parts(&self) -> Option<(&str, u32)> {
        self.number.filter(|_| !self.low).map(|number| (&*self.text, number))
    }

    /// Returns whether the name was read from a text, so that it may equal any other name.
    pub fn was_read(&self) -> bool {
        self.number.is_none()
    }

    /// Returns the name of the register's low 32 bits.
    pub fn low(&self) -> Name {
        Name { low: true, ..self.clone() }
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name { text: text.into(), number: None, low: false }
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}

/// Writes a number without `write!`, which is slow; listings have thousands of numbers.
pub fn write_decimal(out: &mut impl Write, mut n: u64) -> fmt::Result {
    let (mut digits, mut at) = ([0; 20], 20);
    loop {
        at -= 1;
        digits[at] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            return digits[at..].iter().try_for_each(|digit| out.write_char(char::from(*digit)));
        }
    }
}

/// Compares a name with its printed form.
impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        if self.number.is_none() && !self.low {
            return self.text == other;
        }
        let text = self.to_string();
        text == other
    }
}

/// Compares names by their printed form.
impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.to_string() == other.to_string()
    }
}

//! Names of registers: there are hundreds in a kernel, and most are never printed.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter, Write};

/// A text, and what is printed behind it.
#[derive(Clone, Debug)]
pub struct Name {
    text: Cow<'static, str>,
    number: Option<u32>,
    /// It is the low half of another register.
    low: bool,
}

impl Name {
    /// The text with a number behind it. The text has letters only: the names of everything that is no register have an underscore ([`super::verify`]), so that the two
    /// never meet.
    pub fn numbered(text: &'static str, number: u32) -> Name {
        debug_assert!(text.bytes().all(|b| b.is_ascii_alphabetic()), "{text}");
        Name { text: text.into(), number: Some(number), low: false }
    }

    /// The same text with another number.
    pub fn with_number(&self, number: u32) -> Name {
        // the number of a name that was read is in its text
        let text = match &self.text {
            Cow::Owned(text) if self.number.is_none() => {
                text.trim_end_matches(|c: char| c.is_ascii_digit()).to_string().into()
            }
            text => text.clone(),
        };
        Name { text, number: Some(number), low: self.low }
    }

    /// Its text.
    pub fn write(&self, out: &mut impl Write) -> fmt::Result {
        out.write_str(&self.text)?;
        if let Some(number) = self.number {
            write_decimal(out, number.into())?;
        }
        if self.low { out.write_str("_32") } else { Ok(()) }
    }

    /// Whether it stood in a text, so that any other name may stand beside it.
    pub fn was_read(&self) -> bool {
        self.number.is_none()
    }

    /// The name of its low 32 bits.
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

/// A number, without the detour of `write!`: listings have thousands.
pub fn write_decimal(out: &mut impl Write, n: u64) -> fmt::Result {
    if n >= 10 {
        write_decimal(out, n / 10)?;
    }
    out.write_char(char::from(b'0' + (n % 10) as u8))
}

/// Whether it is printed so.
impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        if self.number.is_none() && !self.low {
            return self.text == other;
        }
        let text = self.to_string();
        text == other
    }
}

/// As they are printed.
impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.to_string() == other.to_string()
    }
}

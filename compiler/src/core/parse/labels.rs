//! The labels of a record's places, and the texts of these.

use super::Parser;
use crate::core::labels::{LabelSet, Labels, RecordPlace, Says};
use crate::error::Result;

impl Parser<'_> {
    /// Reads `of (17 read !f.rs:2:3, 16 div)`: labels with their places.
    pub(super) fn labels(&mut self) -> Result<LabelSet> {
        self.c.expect("of")?;
        self.c.expect("(")?;
        let params = self.f.params.len() as u32;
        let all = self.c.list(")", |c| {
            let label = c.u32()?;
            if label > Labels::MOST {
                return Err(c.error("there are not so many labels"));
            }
            let says = match c.word()?.as_str() {
                "param" => match c.u32()? {
                    i if i < params => Says::Param(i),
                    _ => return Err(c.error("there are not so many parameters")),
                },
                "read" => Says::Read,
                "div" => Says::Division,
                "words" => Says::Words(c.string()?.into()),
                word => return Err(c.error(format!("`{word}` is no place"))),
            };
            Ok((label, RecordPlace { says, loc: c.place().first().cloned() }))
        })?;
        let mut labels = Labels::clone(self.f.graph.labels());
        let sets = all.iter().map(|(label, _)| LabelSet::one(*label)).reduce(|a, b| a.union(&b));
        all.into_iter().for_each(|(label, place)| labels.set(label, place));
        self.f.graph.set_labels(labels.into());
        sets.ok_or_else(|| self.c.error("there is no label"))
    }
}

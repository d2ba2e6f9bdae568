//! Structs in a package's interface: parameters and results that a function has field by field, and that its callers
//! pass as a struct, or as an array of structs in memory.
//!
//! An array of structs is a view of its bytes, with an axis more: the bytes of one struct. The package's C code makes
//! a view of each field of it, whose stride is a struct; nothing is copied.

use crate::core::Function;
use crate::error::{Error, Result};
use crate::scalar::Ty;

/// The type of a field.
#[derive(Clone, PartialEq, Debug)]
pub enum FieldType {
    /// An element type.
    Elem(Ty),
    /// The struct of that name.
    Struct(String),
    /// That many values side by side.
    Array(Box<FieldType>, usize),
}

/// A struct.
#[derive(Clone, PartialEq, Debug)]
pub struct Struct {
    /// Its name, without the package's.
    pub name: String,
    /// Its fields, in the order of memory.
    pub fields: Vec<(String, FieldType)>,
    /// Whether it is a complex number, which C++ has a type for.
    pub is_complex: bool,
}

/// A parameter or result that is a struct, or an array of structs.
#[derive(Clone, Debug)]
pub struct Use {
    /// The function.
    pub function: String,
    /// Whether it is a result.
    pub is_result: bool,
    /// The first of the function's parameters, or results, that are its fields.
    pub first: usize,
    /// Its name.
    pub name: String,
    /// The struct's name.
    pub record: String,
}

/// The structs of a package, and where they are used.
#[derive(Clone, Default, Debug)]
pub struct Records {
    /// The structs; those that others contain come before them.
    pub structs: Vec<Struct>,
    /// The uses, in any order.
    pub uses: Vec<Use>,
}

/// A value of a struct inside of one that is no struct itself: how C names it, and its type.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The path in the struct, such as `at[0]` or `light.bright`.
    pub path: String,
    /// The type.
    pub ty: Ty,
}

impl Leaf {
    /// Returns the name that the leaf of a value has among the function's parameters or results.
    pub fn flat(&self, value: &str) -> String {
        format!("{value}_{}", self.path.replace(['.', '['], "_").replace(']', ""))
    }
}

impl Records {
    /// Adds a struct. Another one of the same name is an error.
    pub fn add(&mut self, s: Struct) -> Result<()> {
        match self.structs.iter().find(|known| known.name == s.name) {
            None => self.structs.push(s),
            Some(known) if *known == s => {}
            Some(_) => {
                let message = format!("two records of different fields are named {:?}: rename one", s.name);
                return Err(Error::user("E0503", message));
            }
        }
        Ok(())
    }

    /// Returns the struct of a name.
    pub fn of(&self, name: &str) -> Option<&Struct> {
        self.structs.iter().find(|s| s.name == name)
    }

    /// Returns the leaves of a struct, in order.
    pub fn leaves(&self, name: &str) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.walk(&FieldType::Struct(name.into()), "", &mut leaves);
        leaves
    }

    fn walk(&self, ty: &FieldType, path: &str, out: &mut Vec<Leaf>) {
        match ty {
            FieldType::Elem(ty) => out.push(Leaf { path: path.into(), ty: *ty }),
            FieldType::Array(ty, n) => (0..*n).for_each(|i| self.walk(ty, &format!("{path}[{i}]"), out)),
            FieldType::Struct(name) => {
                for (field, ty) in self.of(name).iter().flat_map(|s| &s.fields) {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.walk(ty, &format!("{path}{dot}{field}"), out);
                }
            }
        }
    }

    /// Returns the size and the alignment of a type in bytes, as C lays it out.
    fn size(&self, ty: &FieldType) -> (usize, usize) {
        match ty {
            FieldType::Elem(ty) => (ty.size(), ty.size()),
            FieldType::Array(ty, n) => {
                let (size, alignment) = self.size(ty);
                (size * n, alignment)
            }
            FieldType::Struct(name) => {
                let (mut end, mut most) = (0usize, 1);
                for (_, ty) in self.of(name).iter().flat_map(|s| &s.fields) {
                    let (size, alignment) = self.size(ty);
                    end = end.next_multiple_of(alignment) + size;
                    most = most.max(alignment);
                }
                (end.next_multiple_of(most), most)
            }
        }
    }

    /// Returns the size of a struct in bytes.
    pub fn size_of(&self, name: &str) -> usize {
        self.size(&FieldType::Struct(name.into())).0
    }

    /// Whether a parameter or result of a function has that name.
    fn has_value(&self, f: &Function, name: &str) -> bool {
        let params = f.params.iter().map(|p| &p.name);
        let uses = self.uses.iter().filter(|u| u.function == f.name).map(|u| &u.name);
        params.chain(f.results.iter().map(|r| &r.name)).chain(uses).any(|n| n == name)
    }

    /// Checks the names of structs and fields, and that no value hides a struct of the package.
    pub fn check(&self, package: &str, functions: &[&Function]) -> Result<()> {
        for s in &self.structs {
            super::names::require_good("a record", &s.name)?;
            for (field, _) in &s.fields {
                super::names::require_good(&format!("a field of {}", s.name), field)?;
            }
            if functions.iter().any(|f| f.name == s.name) {
                let message = format!("a function and a record are both named {:?} in C: rename one", s.name);
                return Err(Error::user("E0503", message));
            }
            let in_c = format!("{package}_{}", s.name);
            if let Some(f) = functions.iter().find(|f| self.has_value(f, &in_c)) {
                return Err(super::names::shadows(f, &in_c, &format!("the record {:?}", s.name)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::{Param, Type};

    #[test]
    fn layout() {
        let mut records = Records::default();
        let light = Struct {
            name: "light".into(),
            fields: vec![
                ("bright".into(), FieldType::Elem(Ty::F32)),
                ("is_on".into(), FieldType::Elem(Ty::Bool)),
            ],
            is_complex: false,
        };
        let star = Struct {
            name: "star".into(),
            fields: vec![
                ("kind".into(), FieldType::Elem(Ty::I32)),
                ("at".into(), FieldType::Array(Box::new(FieldType::Elem(Ty::F64)), 2)),
                ("light".into(), FieldType::Struct("light".into())),
            ],
            is_complex: false,
        };
        records.add(light.clone()).unwrap();
        records.add(star).unwrap();
        records.add(light).unwrap();
        assert_eq!(records.structs.len(), 2);
        assert_eq!((records.size_of("light"), records.size_of("star")), (8, 32));
        let paths: Vec<String> = records.leaves("star").into_iter().map(|l| l.path).collect();
        assert_eq!(paths, ["kind", "at[0]", "at[1]", "light.bright", "light.is_on"]);
        let other = Struct { name: "light".into(), fields: vec![], is_complex: false };
        assert_eq!(records.add(other).unwrap_err().code, "E0503");
        let named =
            |name: &str| Function::new("f", vec![Param { name: name.into(), ty: Type::vector(Ty::F32) }]);
        let says = |f: Function| records.check("sky", &[&f]).map_err(|e| (e.code, e.to_string()));
        assert_eq!(says(named("light")), Ok(()));
        let (code, message) = says(named("sky_light")).unwrap_err();
        assert!(code == "E0502" && message.contains("the name in C of the record \"light\""), "{message}");
    }
}

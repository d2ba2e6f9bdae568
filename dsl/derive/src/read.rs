//! What the macro takes from the author's struct, and the messages for structs that cannot be
//! records.

use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Generics, Ident, Path, Result, Type, Visibility};

/// A struct that becomes a record.
pub struct Record<'a> {
    pub vis: &'a Visibility,
    pub name: &'a Ident,
    pub generics: &'a Generics,
    pub fields: Vec<Field<'a>>,
    /// The crate of the language, as the author's program names it.
    pub krate: Path,
}

/// A field of a record.
pub struct Field<'a> {
    pub vis: &'a Visibility,
    pub name: &'a Ident,
    pub ty: &'a Type,
}

/// The record that a struct is, or why it cannot be one.
pub fn record(input: &DeriveInput) -> Result<Record<'_>> {
    let wrong = |what: &str| {
        let message = format!("{what} cannot be a record: write a struct with named fields");
        Err(Error::new(input.ident.span(), message))
    };
    let fields = match &input.data {
        Data::Struct(data) => &data.fields,
        Data::Enum(_) => return wrong("an enum"),
        Data::Union(_) => return wrong("a union"),
    };
    let fields = match fields {
        Fields::Named(fields) if fields.named.is_empty() => return wrong("a struct without fields"),
        Fields::Named(fields) => &fields.named,
        Fields::Unnamed(_) => return wrong("a struct of unnamed fields"),
        Fields::Unit => return wrong("a struct without fields"),
    };
    if let Some(lifetime) = input.generics.lifetimes().next() {
        return Err(Error::new(lifetime.span(), "a record has no lifetimes: its fields are values"));
    }
    let fields = fields.iter().filter_map(|field| {
        let name = field.ident.as_ref()?;
        Some(Field { vis: &field.vis, name, ty: &field.ty })
    });
    Ok(Record {
        vis: &input.vis,
        name: &input.ident,
        generics: &input.generics,
        fields: fields.collect(),
        krate: krate(input)?,
    })
}

/// The path of `#[record(crate = path)]`.
fn krate(input: &DeriveInput) -> Result<Path> {
    let mut krate = syn::parse_str("::arraygpu")?;
    for attribute in input.attrs.iter().filter(|a| a.path().is_ident("record")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only option is `crate = path`"));
            }
            krate = meta.value()?.call(Path::parse_mod_style)?;
            Ok(())
        })?;
    }
    Ok(krate)
}

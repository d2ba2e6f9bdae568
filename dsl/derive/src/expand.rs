//! The code that the macro writes.

use crate::read::Record;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericParam, Generics, parse_quote};

/// The struct of the fields, its names, and the traits of both.
pub fn implementations(record: &Record<'_>) -> TokenStream {
    let (fields, traits) = (fields(record), traits(record));
    quote! {
        #fields
        #traits
    }
}

/// The generics of the struct of the fields: those of the record, and what stands for a field.
fn of_generics(record: &Record<'_>) -> Generics {
    let krate = &record.krate;
    let mut generics = record.generics.clone();
    // a parameter with a default cannot stand before one without
    for param in &mut generics.params {
        match param {
            GenericParam::Type(p) => (p.eq_token, p.default) = (None, None),
            GenericParam::Const(p) => (p.eq_token, p.default) = (None, None),
            GenericParam::Lifetime(_) => {}
        }
    }
    generics.params.push(parse_quote!(__K: #krate::derived::Rank));
    generics
}

/// The arguments of the struct of the fields.
fn of_arguments(record: &Record<'_>, rank: &TokenStream) -> TokenStream {
    let own = record.generics.params.iter().map(|p| match p {
        GenericParam::Type(p) => {
            let name = &p.ident;
            quote!(#name)
        }
        GenericParam::Const(p) => {
            let name = &p.ident;
            quote!(#name)
        }
        GenericParam::Lifetime(_) => quote!(),
    });
    quote!(<#(#own,)* #rank>)
}

/// The struct whose fields are handles, and its names.
fn fields(record: &Record<'_>) -> TokenStream {
    let (vis, name, krate) = (record.vis, record.name, &record.krate);
    let of = format_ident!("{name}Of");
    let generics = of_generics(record);
    let (of_impl, of_args, of_where) = generics.split_for_impl();
    let fields = record.fields.iter().map(|f| {
        let (vis, name, ty) = (f.vis, f.name, f.ty);
        let docs = format!("The field `{name}`.");
        // the message about a type that cannot be a field points at it
        quote_spanned!(ty.span()=> #[doc = #docs] #vis #name: <#ty as #krate::derived::Field>::Of<__K>)
    });
    let docs = format!("The fields of [`{name}`]; `__K` says what stands for each of them.");
    let own = &record.generics.params;
    let own = if own.is_empty() { quote!() } else { quote!(<#own>) };
    let ranks = [
        ("Fields", "Rank0", "a scalar expression"),
        ("Vectors", "Rank1", "a vector"),
        ("Matrices", "Rank2", "a matrix"),
        ("Tensors", "Rank3", "an array of three dimensions"),
    ];
    let names = ranks.iter().map(|(suffix, rank, what)| {
        let (short, rank) = (format_ident!("{name}{suffix}"), format_ident!("{rank}"));
        let args = of_arguments(record, &quote!(#krate::derived::#rank));
        let docs = format!("The fields of [`{name}`], each {what}.");
        quote! {
            #[doc = #docs]
            #[allow(dead_code, type_alias_bounds)]
            #vis type #short #own = #of #args;
        }
    });
    let debug = record.fields.iter().map(|f| {
        let name = f.name;
        quote!(.field(stringify!(#name), &self.#name))
    });
    let pack = format!("The fields as a [`{name}`]. Arrays of different shapes are an error of the call.");
    let args = of_arguments(record, &quote!(__K));
    let (_, own_args, _) = record.generics.split_for_impl();
    quote! {
        #[doc = #docs]
        #[must_use = "an expression does nothing unless a function's result uses it"]
        #vis struct #of #generics #of_where { #(#fields,)* }

        #(#names)*

        impl #of_impl ::core::clone::Clone for #of #of_args #of_where {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl #of_impl ::core::marker::Copy for #of #of_args #of_where {}
        impl #of_impl ::core::fmt::Debug for #of #of_args #of_where {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(stringify!(#name)) #(#debug)* .finish()
            }
        }

        impl #of_impl #of #args #of_where {
            #[doc = #pack]
            #[allow(dead_code, reason = "a program may only read the record")]
            #[track_caller]
            #vis fn pack(self) -> <__K as #krate::derived::Rank>::Handle<#name #own_args> {
                #krate::derived::pack::<#name #own_args, __K>(self)
            }
        }
    }
}

/// The traits of the language.
fn traits(record: &Record<'_>) -> TokenStream {
    let (name, krate) = (record.name, &record.krate);
    let of = format_ident!("{name}Of");
    let generics = of_generics(record);
    let (of_impl, of_args, of_where) = generics.split_for_impl();
    let (own_impl, own_args, own_where) = record.generics.split_for_impl();
    let of_any = of_arguments(record, &quote!(__K));
    let of_scalars = of_arguments(record, &quote!(#krate::derived::Rank0));
    let names: Vec<_> = record.fields.iter().map(|f| f.name).collect();
    // messages about a type that cannot be a field point at it
    let leaves = record.fields.iter().map(|f| {
        let (ty, text) = (f.ty, f.name.to_string());
        let text = text.trim_start_matches("r#");
        quote_spanned! {ty.span()=>
            <#ty as #krate::derived::Field>::leaves_of(&#krate::derived::leaf_name(prefix, #text), out);
        }
    });
    let c_fields = record.fields.iter().map(|f| {
        let (ty, text) = (f.ty, f.name.to_string());
        let text = text.trim_start_matches("r#");
        quote_spanned!(ty.span()=> (#text.into(), <#ty as #krate::derived::Field>::c_type_of(structs)))
    });
    // what distinguishes the structs of a generic record
    let arguments = record.generics.params.iter().filter_map(|p| match p {
        GenericParam::Type(p) => {
            let name = &p.ident;
            Some(quote!(#krate::derived::argument_name::<#name>()))
        }
        GenericParam::Const(p) => {
            let name = &p.ident;
            Some(quote!(#name.to_string()))
        }
        GenericParam::Lifetime(_) => None,
    });
    let literals = record.fields.iter().map(|f| {
        let (name, ty) = (f.name, f.ty);
        quote_spanned!(ty.span()=> <#ty as #krate::derived::Field>::literals_in(&self.#name, out);)
    });
    let of_literals = record.fields.iter().map(|f| {
        let (name, ty) = (f.name, f.ty);
        quote_spanned!(ty.span()=> #name: <#ty as #krate::derived::Field>::field_of_literals(leaves))
    });
    quote! {
        impl #own_impl #krate::derived::Item for #name #own_args #own_where {
            fn leaves(prefix: &str, out: &mut ::std::vec::Vec<#krate::derived::Leaf>) {
                #(#leaves)*
            }
            fn c_type(structs: &mut ::std::vec::Vec<#krate::derived::Struct>) -> #krate::derived::FieldType {
                let fields = ::std::vec![#(#c_fields),*];
                #krate::derived::c_struct(stringify!(#name), &[#(#arguments),*], fields, structs)
            }
            fn split(node: &#krate::derived::NodeRef) -> &[#krate::derived::NodeRef] {
                #krate::derived::parts(node)
            }
            fn join(nodes: &mut dyn ::core::iter::Iterator<Item = #krate::derived::NodeRef>) -> #krate::derived::NodeRef {
                #krate::derived::bundle::<Self>(nodes)
            }
            fn literals(&self, out: &mut ::std::vec::Vec<#krate::derived::Lit>) {
                #(#literals)*
            }
            fn of_literals(leaves: &mut dyn ::core::iter::Iterator<Item = #krate::derived::Lit>) -> Self {
                #name { #(#of_literals,)* }
            }
        }

        impl #own_impl #krate::derived::Record for #name #own_args #own_where {
            type Of<__K: #krate::derived::Rank> = #of #of_any;
        }

        impl #of_impl #krate::Results for #of #of_args #of_where {
            fn nodes(self, out: &mut ::std::vec::Vec<#krate::derived::NodeRef>) {
                #(#krate::Results::nodes(self.#names, out);)*
            }
            fn from_nodes(nodes: &mut dyn ::core::iter::Iterator<Item = #krate::derived::NodeRef>) -> Self {
                #of { #(#names: #krate::Results::from_nodes(nodes),)* }
            }
            fn described(out: &mut ::std::vec::Vec<#krate::derived::Described>) {
                out.push(#krate::derived::described::<#name #own_args>());
            }
        }

        impl #own_impl #krate::Scalars for #of #of_scalars #own_where {
            type Vectors = #krate::VExp<#name #own_args>;
            type Matrices = #krate::MExp<#name #own_args>;
            type Tensors = #krate::TExp<#name #own_args>;
        }
    }
}

//! As much of C as the backend's expressions and its prelude are made of: macros that define functions, declarations,
//! expressions.

use arraygpu_compiler::scalar::{Lit, Ty};
use std::collections::HashMap;

/// An expression.
#[derive(Clone, Debug)]
pub enum Node {
    Name(String),
    Literal(Lit),
    Cast(Ty, Box<Node>),
    Unary(char, Box<Node>),
    Binary(String, Box<Node>, Box<Node>),
    Choice(Box<Node>, Box<Node>, Box<Node>),
    Call(String, Vec<Node>),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    Declare(Ty, Vec<(String, Option<Node>)>),
    Assign(String, Node),
    /// `memcpy` of all bits, to and from.
    Copy(String, String),
    Return(Node),
}

/// A helper of the prelude.
#[derive(Clone, Debug)]
pub struct Function {
    pub result: Ty,
    pub params: Vec<(Ty, String)>,
    pub body: Vec<Statement>,
}

fn ctype(name: &str) -> Option<Ty> {
    Some(match name {
        "float" => Ty::F32,
        "double" => Ty::F64,
        "bool" => Ty::Bool,
        "int" => Ty::I32,
        name => {
            let name = name.strip_suffix("_t")?;
            let (kind, bits) = name.split_once("int")?;
            Ty::parse(&format!("{}{bits}", if kind == "u" { 'u' } else { 'i' }))?
        }
    })
}

fn tokens(text: &str) -> Vec<String> {
    let (mut out, chars) = (Vec::new(), text.chars().collect::<Vec<_>>());
    let mut i = 0;
    while i < chars.len() {
        let (start, c) = (i, chars[i]);
        if c.is_whitespace() || c == '\\' {
            i += 1;
            continue;
        }
        if c.is_ascii_digit() {
            let is_part = |i: usize| {
                chars[i].is_alphanumeric()
                    || chars[i] == '.'
                    || matches!(chars[i], '+' | '-') && matches!(chars[i - 1], 'e' | 'p')
            };
            while i < chars.len() && (i == start || is_part(i)) {
                i += 1;
            }
        } else if c.is_alphabetic() || c == '_' {
            while i < chars.len() && (chars[i].is_alphanumeric() || chars[i] == '_') {
                i += 1;
            }
        } else if c == '"' {
            i += 2;
        } else {
            let pair: String = chars[i..chars.len().min(i + 2)].iter().collect();
            i += if ["==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "##"].contains(&pair.as_str()) {
                2
            } else {
                1
            };
        }
        out.push(chars[start..i].iter().collect());
    }
    out
}

/// The functions that a header defines, by macros or plainly; those that are made of anything else are left out.
pub fn functions(header: &str) -> HashMap<String, Function> {
    let mut macros: HashMap<String, (Vec<String>, Vec<String>)> = HashMap::new();
    let mut all: Vec<String> = Vec::new();
    let joined = without_comments(header).replace("\\\n", " ");
    for line in joined.lines() {
        if let Some(define) = line.strip_prefix("#define ") {
            let t = tokens(define);
            if t.get(1).is_some_and(|p| p == "(") {
                let end = t.iter().position(|p| p == ")").expect("parameters end");
                let params = t[2..end].iter().filter(|p| *p != ",").cloned().collect();
                macros.insert(t[0].clone(), (params, t[end + 1..].to_vec()));
            }
        } else if !line.starts_with('#') {
            let t = tokens(line);
            match t.first().and_then(|name| macros.get(name)) {
                Some((params, body)) => all.extend(expanded(params, body, &t[2..t.len() - 1])),
                None => all.extend(t),
            }
        }
    }
    let mut out = HashMap::new();
    let mut rest = &all[..];
    while let Some(at) = rest.windows(2).position(|w| w[0] == "static" && w[1] == "inline") {
        rest = &rest[at + 2..];
        let end = closing(rest, rest.iter().position(|t| t == "{").expect("a body"));
        if let Some((name, f)) = function(&rest[..end]) {
            out.insert(name, f);
        }
        rest = &rest[end..];
    }
    out
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((code, comment)) = rest.split_once("/*") {
        out += code;
        rest = comment.split_once("*/").expect("comments end").1;
    }
    out + rest
}

/// A macro's body with arguments, which are separated by commas.
fn expanded(params: &[String], body: &[String], args: &[String]) -> Vec<String> {
    let args: Vec<&[String]> = args.split(|t| t == ",").collect();
    let mut out: Vec<String> = Vec::new();
    let mut joins = false;
    for t in body {
        if t == "##" {
            joins = true;
            continue;
        }
        let with: Vec<String> = match params.iter().position(|p| p == t) {
            Some(i) => args.get(i).map_or(vec![], |a| a.to_vec()),
            None => vec![t.clone()],
        };
        let mut with = with.into_iter();
        if std::mem::take(&mut joins) {
            let last = out.last_mut().expect("something is joined");
            last.push_str(&with.next().unwrap_or_default());
        }
        out.extend(with);
    }
    out
}

/// Behind the brace that closes the one at `open`.
fn closing(t: &[String], open: usize) -> usize {
    let mut depth = 0;
    let end = t[open..].iter().position(|t| {
        depth += i32::from(t == "{") - i32::from(t == "}");
        depth == 0
    });
    open + end.expect("braces close") + 1
}

/// None: it is made of more than values.
fn function(t: &[String]) -> Option<(String, Function)> {
    let (result, name) = (ctype(&t[0])?, t[1].clone());
    let end = t.iter().position(|p| p == ")")?;
    let mut params = Vec::new();
    for p in t[3..end].split(|t| t == ",") {
        let [ty, name] = p else { return None };
        params.push((ctype(ty)?, name.clone()));
    }
    let mut p = Parser { t: &t[end + 2..t.len() - 1], at: 0 };
    let mut body = Vec::new();
    while p.at < p.t.len() {
        if p.t[p.at] == "while" {
            return None;
        }
        body.push(p.statement());
    }
    Some((name, Function { result, params, body }))
}

/// One statement.
pub fn statement(text: &str) -> Statement {
    let t = tokens(text);
    Parser { t: &t, at: 0 }.statement()
}

struct Parser<'t> {
    t: &'t [String],
    at: usize,
}

/// Operators by how strongly they bind, weakest first.
const LEVELS: [&[&str]; 9] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
];

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.t.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        self.at += 1;
        self.t[self.at - 1].clone()
    }

    fn eat(&mut self, token: &str) -> bool {
        let is = self.peek() == token;
        self.at += usize::from(is);
        is
    }

    #[track_caller]
    fn expect(&mut self, token: &str) {
        assert!(self.eat(token), "{token} is expected, not {} in {}", self.peek(), self.t.join(" "));
    }

    fn statement(&mut self) -> Statement {
        self.eat("const");
        if self.eat("return") {
            let e = self.expression();
            self.expect(";");
            return Statement::Return(e);
        }
        if self.eat("__builtin_memcpy") {
            self.expect("(");
            self.expect("&");
            let to = self.next();
            self.expect(",");
            self.expect("&");
            let from = self.next();
            while !self.eat(";") {
                self.at += 1;
            }
            return Statement::Copy(to, from);
        }
        let first = self.next();
        let Some(ty) = ctype(&first) else {
            self.expect("=");
            let e = self.expression();
            self.expect(";");
            return Statement::Assign(first, e);
        };
        let mut list = Vec::new();
        loop {
            let name = self.next();
            let value = self.eat("=").then(|| self.expression());
            list.push((name, value));
            if !self.eat(",") {
                self.expect(";");
                return Statement::Declare(ty, list);
            }
        }
    }

    fn expression(&mut self) -> Node {
        let c = self.level(0);
        if !self.eat("?") {
            return c;
        }
        let a = self.expression();
        self.expect(":");
        let b = self.expression();
        Node::Choice(Box::new(c), Box::new(a), Box::new(b))
    }

    fn level(&mut self, level: usize) -> Node {
        let below = |p: &mut Self| if level + 1 < LEVELS.len() { p.level(level + 1) } else { p.product() };
        let mut a = below(self);
        while LEVELS[level].contains(&self.peek()) {
            let op = self.next();
            let b = below(self);
            a = Node::Binary(op, Box::new(a), Box::new(b));
        }
        a
    }

    fn product(&mut self) -> Node {
        let mut a = self.unary();
        while ["*", "/", "%"].contains(&self.peek()) {
            let op = self.next();
            let b = self.unary();
            a = Node::Binary(op, Box::new(a), Box::new(b));
        }
        a
    }

    fn unary(&mut self) -> Node {
        if let op @ ("-" | "!" | "~") = self.peek() {
            let op = op.chars().next().expect("a sign");
            self.at += 1;
            return Node::Unary(op, Box::new(self.unary()));
        }
        if self.eat("(") {
            if let Some(ty) = ctype(self.peek()) {
                self.at += 1;
                self.expect(")");
                return Node::Cast(ty, Box::new(self.unary()));
            }
            let e = self.expression();
            self.expect(")");
            return e;
        }
        let t = self.next();
        if t.starts_with(|c: char| c.is_ascii_digit()) {
            return Node::Literal(number(&t));
        }
        if let Some(l) = limit(&t) {
            return Node::Literal(l);
        }
        if !self.eat("(") {
            return Node::Name(t);
        }
        let mut args = Vec::new();
        while !self.eat(")") {
            if self.peek().starts_with('"') {
                self.at += 1;
                continue;
            }
            args.push(self.expression());
            self.eat(",");
        }
        match (t.as_str(), &args[..]) {
            ("INT64_C", [Node::Literal(l)]) => Node::Literal(Lit { ty: Ty::I64, ..*l }),
            ("INT64_C", [a]) => Node::Cast(Ty::I64, Box::new(a.clone())),
            ("UINT64_C", [Node::Literal(l)]) => Node::Literal(Lit { ty: Ty::U64, ..*l }),
            _ => Node::Call(t, args),
        }
    }
}

/// `true`, `INT32_MIN` and the like, with the types that they have.
fn limit(name: &str) -> Option<Lit> {
    if let "true" | "false" = name {
        return Some(Lit::bool(name == "true"));
    }
    let (ty, end) = name.split_once('_')?;
    let ty = ctype(&format!("{}_t", ty.to_lowercase())).filter(|t| t.is_int())?;
    let l = match end {
        "MIN" => Lit::least(ty),
        "MAX" => Lit::greatest(ty),
        _ => return None,
    };
    Some(if ty.size() < 4 { arraygpu_compiler::scalar::eval_cast(Ty::I32, l) } else { l })
}

/// A number with the type that its form says.
fn number(text: &str) -> Lit {
    if let Some((digits, exponent)) = text.strip_prefix("0x1").and_then(|t| t.split_once('p')) {
        // all of these are exact
        let hex = digits.trim_start_matches('.');
        let part = u64::from_str_radix(hex, 16).unwrap_or(0) as f64 / 16f64.powi(hex.len() as i32);
        let power = |e: &str| (1.0 + part) * 2f64.powi(e.parse().expect("an exponent"));
        return match exponent.strip_suffix('f') {
            Some(e) => Lit::f32(power(e) as f32),
            None => Lit::f64(power(exponent)),
        };
    }
    if let Some(hex) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(hex.trim_end_matches('u'), 16).expect("hexadecimal");
        return if hex.ends_with('u') { Lit::u32(bits as u32) } else { Lit::i32(bits as i32) };
    }
    if text.contains(['.', 'e']) {
        return match text.strip_suffix('f') {
            Some(x) => Lit::f32(x.parse().expect("a number")),
            None => Lit::f64(text.parse().expect("a number")),
        };
    }
    match text.strip_suffix('u') {
        Some(x) => Lit::u32(x.parse().expect("a number")),
        None => {
            let x: i64 = text.parse().expect("a number");
            i32::try_from(x).map_or(Lit::i64(x), Lit::i32)
        }
    }
}

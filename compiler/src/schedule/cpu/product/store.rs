//! The elements that follow from the results of a block tile, and their stores.

use super::block_tiles::{BlockTile, SIZE};
use crate::core::NodeId;
use crate::error::Result;
use crate::kernel::{Expr, Stmt};
use crate::scalar::Ty;
use crate::schedule::cpu::element_loop::each;
use crate::schedule::element::canonical;
use crate::schedule::element::lower::{Lower, bind};
use crate::schedule::facts::loop_nests::Env;
use crate::schedule::facts::products::Product;
use crate::schedule::groups::FusedGroup;

/// An element of a block tile.
pub struct Element {
    env: Env,
    /// The values of the variables of its row and column.
    pub vars: Vec<(NodeId, Expr)>,
}

impl Element {
    /// Returns the element's node for a template: a node of the element at the product's variables.
    pub fn node(&self, l: &mut Lower, template: NodeId) -> NodeId {
        self.env.of(&mut l.launch.g, template)
    }
}

/// Returns the result of the operation for an element, given its position in the block tile's buffers.
pub type ResultOf<'a> = dyn FnMut(&mut Lower, &Element, Expr, &mut Vec<Stmt>) -> Result<Expr> + 'a;

/// Emits the elements that follow from the results of a block tile, and their stores. An output may be an input that
/// is read at the same index: an element is computed before any of its values is stored.
pub fn store(
    l: &mut Lower,
    fused: &FusedGroup,
    (p, tile): (&Product, &BlockTile),
    result_of: &mut ResultOf,
) -> Result<Vec<Stmt>> {
    let r = l.k.reg("r", Ty::I64);
    let [i, j] = [(); 2].map(|()| l.launch.g.fresh_var(Ty::I64).1);
    let env = Env::default().with(&l.launch.g, p.outer[0], i).with(&l.launch.g, p.outer[1], j);
    let result = env.of(&mut l.launch.g, p.of.inner[0].node);
    let roots: Vec<NodeId> = p.roots.iter().map(|n| env.of(&mut l.launch.g, *n)).collect();
    let columns = each(l, "c", &Expr::int(0), &tile.counts[1], &mut |l, c, conditions, body| {
        let at = [tile.first[0].clone().plus(Expr::Reg(r)), tile.first[1].clone().plus(c.clone())];
        let at = at.map(|e| bind(l, "at", e, body));
        let mut vars = tile.known(p);
        vars.extend([(i, at[0].clone()), (j, at[1].clone())]);
        let place = tile.index(p, at);
        let mut element = Element { env: env.clone(), vars };
        let from = Expr::Reg(r).times(Expr::int(SIZE)).plus(c.clone());
        let value = result_of(l, &element, from, body)?;
        element.vars.push((result, bind(l, "result", value, body)));
        let vars = element.vars;
        if let Some(conditions) = conditions {
            return l.conditions(&vars, conditions, body);
        }
        let values = l.region(&vars, &roots, &Expr::int(0), body)?;
        let values: Vec<Expr> = match fused.items.len() {
            1 => values,
            _ => values.into_iter().map(|e| bind(l, "value", e, body)).collect(),
        };
        put(l, fused, &place, values, body);
        Ok(vec![])
    })?;
    Ok(vec![Stmt::Seq(r, Expr::int(0), tile.counts[0].clone(), columns)])
}

/// Emits the elements of a block tile one by one, as the program has them, and their stores.
pub fn one_by_one(l: &mut Lower, fused: &FusedGroup, p: &Product, tile: &BlockTile) -> Result<Vec<Stmt>> {
    let [r, c] = ["r", "c"].map(|name| l.k.reg(name, Ty::I64));
    let mut body = Vec::new();
    let at = [tile.first[0].clone().plus(Expr::Reg(r)), tile.first[1].clone().plus(Expr::Reg(c))];
    let at = at.map(|e| bind(l, "at", e, &mut body));
    let mut vars = tile.known(p);
    vars.extend([(p.outer[0], at[0].clone()), (p.outer[1], at[1].clone())]);
    let place = tile.index(p, at);
    let mut number = Expr::int(0);
    for (at, n) in place.iter().zip(&fused.domain) {
        number = number.times(l.launch.host(*n)).plus(at.clone());
    }
    let number = bind(l, "element", number, &mut body);
    let values = l.region(&vars, &p.roots, &number, &mut body)?;
    let values: Vec<Expr> = values.into_iter().map(|e| bind(l, "value", e, &mut body)).collect();
    put(l, fused, &place, values, &mut body);
    let columns = Stmt::Seq(c, Expr::int(0), tile.counts[1].clone(), body);
    Ok(vec![Stmt::Seq(r, Expr::int(0), tile.counts[0].clone(), vec![columns])])
}

/// Stores the values of the element with these indices.
fn put(l: &mut Lower, fused: &FusedGroup, place: &[Expr], values: Vec<Expr>, out: &mut Vec<Stmt>) {
    for (item, e) in fused.items.iter().zip(values) {
        let (mem, ty) = (l.launch.output(item), l.launch.g.ty(item.node).elem);
        let to = l.place_at(mem, place);
        let e = canonical(e, ty, &mut l.k.kernel, out);
        out.push(Stmt::Store(mem, to, e));
    }
}

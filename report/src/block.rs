//! A page before it is Markdown or HTML.

/// A part of a page. Texts are plain; `` `code` `` is code in both.
pub enum Block {
    Heading(&'static str),
    Text(String),
    Table(Table),
    /// A plot as SVG and what it shows; Markdown has the text alone.
    Plot {
        caption: String,
        svg: String,
    },
    /// Long, so that HTML shows it when it is asked for.
    Folded {
        title: String,
        table: Table,
    },
}

/// The first column is a name, the others are figures or words.
pub struct Table {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<const N: usize>(head: [&'static str; N]) -> Self {
        Self { head: head.to_vec(), rows: Vec::new() }
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        debug_assert_eq!(N, self.head.len());
        self.rows.push(cells.to_vec());
    }
}

/// Markdown.
pub fn markdown(title: &str, blocks: &[Block]) -> String {
    let mut out = format!("# {title}\n");
    for block in blocks {
        out.push('\n');
        match block {
            Block::Heading(text) => out += &format!("## {text}\n"),
            Block::Text(text) => out += &format!("{text}\n"),
            Block::Table(table) => out += &table_of(table),
            Block::Plot { caption, .. } => out += &format!("*Plot, in the HTML page: {caption}*\n"),
            Block::Folded { title, table } => out += &format!("{title}\n\n{}", table_of(table)),
        }
    }
    out
}

fn table_of(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        format!("| {} |\n", cells.map(|c| c.replace('|', "\\|")).collect::<Vec<_>>().join(" | "))
    };
    let mut out = line(&mut table.head.iter().copied());
    out += &format!("|{}\n", "---|".repeat(table.head.len()));
    for row in &table.rows {
        out += &line(&mut row.iter().map(String::as_str));
    }
    out
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}\
h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2.5rem;border-bottom:1px solid #ddd}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.8rem 0}\
.wide{overflow-x:auto}th,td{padding:.15rem .7rem .15rem 0;text-align:left;vertical-align:top;border-bottom:1px solid #eee}\
th{border-bottom:1px solid #999;font-weight:600}figure{margin:1.2rem 0}figcaption{color:#555}svg{max-width:100%;height:auto}\
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(26rem,1fr));gap:1rem}code{background:#f3f3f3;padding:0 .2rem}summary{cursor:pointer}";

/// One HTML file that loads nothing.
pub fn html(title: &str, blocks: &[Block]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>{STYLE}</style></head><body>\n<h1>{}</h1>\n",
        escape(title),
        escape(title)
    );
    let mut in_plots = false;
    for block in blocks {
        let is_plot = matches!(block, Block::Plot { .. });
        if is_plot != in_plots {
            out += if is_plot { "<div class=\"plots\">\n" } else { "</div>\n" };
            in_plots = is_plot;
        }
        match block {
            Block::Heading(text) => out += &format!("<h2>{}</h2>\n", escape(text)),
            Block::Text(text) => out += &format!("<p>{}</p>\n", inline(text)),
            Block::Table(table) => out += &html_table(table),
            Block::Plot { caption, svg } => {
                out += &format!("<figure>{svg}<figcaption>{}</figcaption></figure>\n", inline(caption))
            }
            Block::Folded { title, table } => {
                out += &format!(
                    "<details><summary>{}</summary>\n{}</details>\n",
                    inline(title),
                    html_table(table)
                )
            }
        }
    }
    if in_plots {
        out += "</div>\n";
    }
    out + "</body></html>\n"
}

fn html_table(table: &Table) -> String {
    let mut out = String::from("<div class=\"wide\"><table><tr>");
    for cell in &table.head {
        out += &format!("<th>{}</th>", escape(cell));
    }
    out += "</tr>\n";
    for row in &table.rows {
        out += "<tr>";
        for cell in row {
            out += &format!("<td>{}</td>", inline(cell));
        }
        out += "</tr>\n";
    }
    out + "</table></div>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Escaped, with `` `code` `` as code.
fn inline(text: &str) -> String {
    let parts = escape(text);
    parts
        .split('`')
        .enumerate()
        .map(|(k, part)| if k % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<Block> {
        let mut table = Table::new(["case", "ms"]);
        table.row(["a | b <c>".to_owned(), "1".to_owned()]);
        vec![
            Block::Heading("Where"),
            Block::Plot { caption: "ms".to_owned(), svg: "<svg/>".to_owned() },
            Block::Text("as `x`".to_owned()),
            Block::Table(table),
        ]
    }

    #[test]
    fn cells_cannot_break_a_table() {
        assert!(markdown("t", &page()).contains("| a \\| b <c> | 1 |\n"));
        assert!(html("t", &page()).contains("<td>a | b &lt;c&gt;</td>"));
    }

    #[test]
    fn html_closes_what_it_opens() {
        let page = html("t & u", &page());
        assert!(page.contains("t &amp; u") && page.contains("<code>x</code>"), "{page}");
        for tag in ["div", "table", "figure", "p", "body", "html"] {
            let of = |pattern: String| page.matches(&pattern).count();
            assert_eq!(of(format!("<{tag}>")) + of(format!("<{tag} ")), of(format!("</{tag}>")), "{tag}");
        }
    }
}

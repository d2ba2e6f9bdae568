//! Sites: the places in a kernel's code that may leave an error record. A site has a message, and at run time one
//! number: the lowest index of the elements that left the record.
//!
//! A message with two numbers in place of an element takes two sites, one after the other, one for each number. Each
//! site keeps the lowest number that was left there. If several calls leave the record before it is read, the two
//! numbers may be those of different calls. If the two are then equal, which no single call leaves, the message omits
//! the first one.
//!
//! ```text
//! site "with_len: the number of elements that are kept is {}, not {} (stats.rs:12:5)"
//! site "+ with_len: the number of elements that are kept is {}, not {} (stats.rs:12:5)"
//! ```

/// The text before the message of a site for the second number.
const SECOND: &str = "+ ";

/// The text that stands for a number in a message.
const NUMBER: &str = "{}";

/// Returns the site for the second number of one with this message.
pub fn second(message: &str) -> String {
    format!("{SECOND}{message}")
}

/// Whether a site's message has two numbers.
fn has_two(sites: &[String], site: usize) -> bool {
    sites.get(site + 1).is_some_and(|next| next.strip_prefix(SECOND) == Some(sites[site].as_str()))
}

/// Returns the lowest element that left a record and its site, given the number of each site that left one. If
/// several sites have it, the first one counts.
pub fn lowest(sites: &[String], number: impl Fn(usize) -> Option<i64>) -> Option<(i64, usize)> {
    let is_second = |site: usize| site > 0 && has_two(sites, site - 1);
    let element = |site: usize| {
        let number = number(site)?;
        Some((if has_two(sites, site) { 0 } else { number }, site))
    };
    (0..sites.len()).filter(|site| !is_second(*site)).filter_map(element).min()
}

/// Returns the message of the lowest element that left a record, if one did.
pub fn message(sites: &[String], number: impl Fn(usize) -> Option<i64>) -> Option<String> {
    let (element, site) = lowest(sites, &number)?;
    if !has_two(sites, site) {
        return Some(format!("{}, first at element {element}", sites[site]));
    }
    let [first, second] = [site, site + 1].map(|site| number(site).unwrap_or_default());
    let first = if first == second { "more or fewer".to_string() } else { first.to_string() };
    let numbers = [first, second.to_string()];
    Some(numbers.iter().fold(sites[site].clone(), |text, number| text.replacen(NUMBER, number, 1)))
}

#[cfg(test)]
mod tests {
    use super::{lowest, message, second};

    #[test]
    fn the_lowest_element_counts_and_two_numbers_are_one_site() {
        let both = "{} are kept, and {} are wanted (a.rs:1:2)".to_string();
        let sites = ["a (a.rs:3:4)".to_string(), both.clone(), second(&both), "b".to_string()];
        let of = |numbers: [i64; 4]| move |site: usize| (numbers[site] >= 0).then_some(numbers[site]);
        assert_eq!(message(&sites, of([-1; 4])), None);
        assert_eq!(message(&sites, of([3, -1, -1, 3])).unwrap(), "a (a.rs:3:4), first at element 3");
        assert_eq!(message(&sites, of([1, 9, 7, 1])).unwrap(), "9 are kept, and 7 are wanted (a.rs:1:2)");
        let mixed = message(&sites, of([-1, 7, 7, -1])).unwrap();
        assert_eq!(mixed, "more or fewer are kept, and 7 are wanted (a.rs:1:2)");
        assert_eq!(lowest(&sites, of([0, 9, 0, -1])), Some((0, 0)));
        assert_eq!(lowest(&sites, of([5, 9, 0, 4])), Some((0, 1)));
    }
}

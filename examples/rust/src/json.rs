//! The part of JSON that tempod's replies use. Integers above 2^53 are strings of digits.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

const MAX_DEPTH: usize = 32;
impl Json {
    pub fn parse(text: &str) -> Option<Json> {
        let mut rest = text;
        let value = value(&mut rest, 0)?;
        rest.trim().is_empty().then_some(value)
    }
    /// The member of an object; `Null` if there is none.
    pub fn get(&self, name: &str) -> &Json {
        let Json::Object(members) = self else { return &Json::Null };
        members.iter().find(|(key, _)| key == name).map_or(&Json::Null, |(_, value)| value)
    }
    pub fn integer(&self) -> Option<i64> {
        if let Json::Number(text) | Json::Text(text) = self { text.parse().ok() } else { None }
    }
    pub fn text(&self) -> String {
        if let Json::Text(text) = self { text.clone() } else { String::new() }
    }
}

fn take(rest: &mut &str, expected: &str) -> Option<()> {
    rest.trim_start().strip_prefix(expected).map(|left| *rest = left)
}

fn value(rest: &mut &str, depth: usize) -> Option<Json> {
    *rest = rest.trim_start();
    match rest.chars().next().filter(|_| depth < MAX_DEPTH)? {
        '{' => Some(Json::Object(elements(rest, "{", "}", |rest| {
            *rest = rest.trim_start();
            let name = string(rest)?;
            take(rest, ":")?;
            Some((name, value(rest, depth + 1)?))
        })?)),
        '[' => Some(Json::List(elements(rest, "[", "]", |rest| value(rest, depth + 1))?)),
        '"' => string(rest).map(Json::Text),
        't' => take(rest, "true").map(|_| Json::Bool(true)),
        'f' => take(rest, "false").map(|_| Json::Bool(false)),
        'n' => take(rest, "null").map(|_| Json::Null),
        _ => {
            let end = rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(rest.len());
            let number = &rest[..end];
            *rest = &rest[end..];
            number.parse::<f64>().ok().map(|_| Json::Number(number.to_string()))
        }
    }
}

fn elements<T>(rest: &mut &str, open: &str, close: &str, mut one: impl FnMut(&mut &str) -> Option<T>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    take(rest, open)?;
    while take(rest, close).is_none() {
        if !all.is_empty() {
            take(rest, ",")?;
        }
        all.push(one(rest)?);
    }
    Some(all)
}

fn string(rest: &mut &str) -> Option<String> {
    *rest = rest.strip_prefix('"')?;
    let mut text = String::new();
    let mut chars = rest.chars();
    loop {
        match chars.next()? {
            '"' => break,
            '\\' => match chars.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    text.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?).unwrap_or('\u{fffd}'));
                }
                other => text.push(other),
            },
            c => text.push(c),
        }
    }
    *rest = chars.as_str();
    Some(text)
}

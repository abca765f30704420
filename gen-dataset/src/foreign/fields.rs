//! The fields of a row that is not ours.

use records::Prompt;
use serde_json::{Map, Value};

/// A row's fields, without those that are null.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// `None` if the line is not an object; what it is instead, the reader of our own rows says.
    pub(super) fn of(line: &str) -> Option<Self> {
        let mut fields: Map<String, Value> = serde_json::from_str(line).ok()?;
        fields.retain(|_, value| !value.is_null());
        Some(Self(fields))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.shift_remove(name)
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.0.contains_key(*name))
    }

    /// The first two of `names` that are there.
    pub(super) fn two_of<'a>(&self, names: &[&'a str]) -> Option<(&'a str, &'a str)> {
        let mut there = names.iter().copied().filter(|name| self.0.contains_key(*name));
        there.next().zip(there.next())
    }

    /// Fails on the first of `fields` that is there: its name and the remedy.
    pub(super) fn refuse(&self, fields: &[(&str, &str)]) -> Result<(), String> {
        match fields.iter().find(|(name, _)| self.0.contains_key(*name)) {
            Some((name, remedy)) => Err(format!("`{name}`: {remedy}")),
            None => Ok(()),
        }
    }

    /// Calls the one of `names` that is there `ours`. It must be a string.
    pub(super) fn text(&mut self, names: &[&str], ours: &str) -> Result<(), String> {
        self.rename(names, ours, |value| value.is_string().then(|| value.clone()), "a string")
    }

    /// Calls the one of `names` that is there `ours`. It must be a number of tokens.
    pub(super) fn count(&mut self, names: &[&str], ours: &str) -> Result<(), String> {
        self.rename(names, ours, |value| value.is_u64().then(|| value.clone()), "a number of tokens")
    }

    /// Calls the one of `names` that is there `ours`, as `convert` makes it, which wants to be given `what`.
    pub(super) fn rename(
        &mut self,
        names: &[&str],
        ours: &str,
        convert: impl Fn(&Value) -> Option<Value>,
        what: &str,
    ) -> Result<(), String> {
        if let Some((one, other)) = self.two_of(names) {
            return Err(format!("both `{one}` and `{other}`; leave one of them out"));
        }
        let Some(name) = names.iter().find(|name| self.0.contains_key(**name)) else { return Ok(()) };
        let Some(value) = self.take(name) else { return Ok(()) };
        let converted = convert(&value).ok_or_else(|| format!("`{name}` is {value}; give {what}"))?;
        self.set(ours, converted);
        Ok(())
    }

    /// The row, once all its fields have our names.
    pub(super) fn prompt(self) -> Result<Prompt, String> {
        Prompt::refuse_body_fields(self.names())?;
        serde_json::from_value(Value::Object(self.0)).map_err(|error| error.to_string())
    }
}

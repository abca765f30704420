//! A model's chat template.

use minijinja::{Environment, Error as TemplateError, ErrorKind, Value as Context};
use minijinja_contrib::pycompat;
use serde_json::{Map, Value};

/// Puts messages into the form that the model reads, as `apply_chat_template` of Hugging Face's `transformers` does.
pub(super) struct Chat {
    environment: Environment<'static>,
    roles: Map<String, Value>,
}

const NAME: &str = "chat";

impl Chat {
    /// Fails with the reason if `template` is no Jinja that is known here. `roles`: the special tokens by name.
    pub(super) fn new(template: String, roles: Map<String, Value>) -> Result<Self, String> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_unknown_method_callback(pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<Context, TemplateError> {
            Err(TemplateError::new(ErrorKind::InvalidOperation, message))
        });
        environment.add_template_owned(NAME, template).map_err(|error| error.to_string())?;
        Ok(Self { environment, roles })
    }

    /// The text of `messages`, up to where the answer begins.
    pub(super) fn text(&self, messages: &[Value]) -> Result<String, String> {
        let mut context = self.roles.clone();
        context.insert("messages".to_owned(), messages.into());
        context.insert("add_generation_prompt".to_owned(), true.into());
        let template = self.environment.get_template(NAME).map_err(|error| error.to_string())?;
        template.render(Context::from_serialize(&context)).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_answers_beginning_ends_the_text() {
        let template = "{{ bos_token }}{% for m in messages %}\n    {% if m.content.startswith('x') %}\
                        {{ raise_exception('no x') }}{% endif %}\n[{{ m['role'] }}]{{ m.content.strip() }}\n\
                        {% endfor %}\n{%- if add_generation_prompt %}[assistant]{% endif %}\n";
        let roles = Map::from_iter([("bos_token".to_owned(), "<s>".into())]);
        let chat = Chat::new(template.to_owned(), roles).unwrap();
        let messages = [json!({"role": "user", "content": " hi "})];
        assert_eq!(chat.text(&messages).unwrap(), "<s>[user]hi\n[assistant]");
        assert!(chat.text(&[json!({"role": "user", "content": "x"})]).unwrap_err().contains("no x"));
        assert!(Chat::new("{% for %}".to_owned(), Map::new()).is_err());
    }
}

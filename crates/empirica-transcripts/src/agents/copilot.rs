//! Events of Copilot CLI.

use serde_json::value::RawValue;

use crate::agents::reader::Reader;
use crate::model::{Agent, Role, Tokens};
use crate::read::call::Call;
use crate::read::input::Input;
use crate::read::lenient::{Count, Flag, List, Text, lenient};
use crate::summary::fold::Fold;
use crate::text::words;

lenient! {
    /// The context of a session.
    Context {
        cwd: Text<'a> = "cwd",
        root: Text<'a> = "gitRoot",
        branch: Text<'a> = "branch",
        commit: Text<'a> = "headCommit",
    }
}

lenient! {
    /// A call of a tool.
    Request {
        id: Text<'a> = "toolCallId",
        name: Text<'a> = "name",
        arguments: Option<&'a RawValue> = "arguments",
    }
}

lenient! {
    /// The content of an event.
    Data {
        session: Text<'a> = "sessionId",
        model: Text<'a> = "selectedModel",
        new_model: Text<'a> = "newModel",
        context: Context<'a> = "context",
        content: Text<'a> = "content",
        requests: List<Request<'a>> = "toolRequests",
        call: Text<'a> = "toolCallId",
        tool: Text<'a> = "toolName",
        arguments: Option<&'a RawValue> = "arguments",
        success: Flag = "success",
        parent: Text<'a> = "parentToolCallId",
        summary: Text<'a> = "summaryContent",
        input: Count = "inputTokens",
        output: Count = "outputTokens",
        cache_read: Count = "cacheReadTokens",
        cache_write: Count = "cacheWriteTokens",
    }
}

lenient! {
    Event {
        kind: Text<'a> = "type",
        timestamp: Text<'a> = "timestamp",
        id: Text<'a> = "id",
        data: Data<'a> = "data",
    }
}

/// Reads the events of a session.
#[derive(Debug, Default)]
pub struct Copilot {
    seen: std::collections::HashSet<u64>,
}

fn called(id: Option<&str>, name: &str, arguments: Option<&RawValue>, fold: &mut Fold) {
    let call = Input::with(arguments, |input| Call::of(Agent::Copilot, name, input, fold.folder.as_deref()));
    fold.add_call(None, id, call);
}

impl Reader for Copilot {
    fn row(&mut self, text: &str, fold: &mut Fold) -> bool {
        let Ok(event) = serde_json::from_str::<Event>(text) else { return false };
        if let Some(id) = event.id.get()
            && !self.seen.insert(fold.hash(id))
        {
            return true;
        }
        let (data, at) = (&event.data, event.timestamp.get());
        if let Some(time) = at {
            fold.add_time(time);
        }
        let owned = |text: &Text| text.get().map(str::to_owned);
        match event.kind.get() {
            Some("session.start" | "session.resume") => {
                if let Some(cwd) = data.context.cwd.get() {
                    fold.set_cwd(cwd);
                }
                fold.own_root = owned(&data.context.root).or(fold.own_root.take());
                let out = &mut fold.out;
                out.session_id = owned(&data.session).or(out.session_id.take());
                out.model = owned(&data.model).or(out.model.take());
                out.branch = owned(&data.context.branch).or(out.branch.take());
                out.commit = out.commit.take().or(owned(&data.context.commit));
            }
            Some("session.model_change") => fold.out.model = owned(&data.new_model).or(fold.out.model.take()),
            Some("session.compaction_complete") => fold.set_summary(data.summary.get().unwrap_or_default()),
            Some("user.message") => {
                let own = data.content.get().and_then(words::of_user);
                fold.add_message(Role::User, own.unwrap_or_default(), at);
            }
            Some("assistant.message") => {
                if data.parent.get().is_none() {
                    fold.add_message(Role::Assistant, data.content.get().unwrap_or_default(), at);
                }
                for request in &data.requests.0 {
                    called(request.id.get(), request.name.get().unwrap_or_default(), request.arguments, fold);
                }
            }
            Some("tool.execution_start") => {
                // without an id it would be counted twice
                if let Some(id) = data.call.get() {
                    called(Some(id), data.tool.get().unwrap_or_default(), data.arguments, fold);
                }
            }
            Some("tool.execution_complete") => {
                if let Some(id) = data.call.get() {
                    fold.end_call(id, data.success.is_denied());
                }
            }
            Some("assistant.usage") => {
                let tokens = Tokens {
                    input: data.input.get(),
                    output: data.output.get(),
                    cache_read: data.cache_read.get(),
                    cache_write: data.cache_write.get(),
                };
                fold.add_usage(None, None, tokens);
            }
            _ => {}
        }
        true
    }
}

"""The forms in which the agents speak with their models: Anthropic's Messages, OpenAI's Responses and chat, Gemini's content."""

import gzip
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from model import SUMMARY, Model
from tools import Tools


def text_of(content) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or [] if isinstance(part, dict) and isinstance(part.get("text"), str))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def log_message(self, *_) -> None:
        pass

    def body(self) -> dict:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        try:
            return json.loads(data or b"{}")
        except ValueError:
            return {}

    def reply(self, data: bytes, kind: str = "application/json", status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def document(self, value: dict, status: int = 200) -> None:
        self.reply(json.dumps(value).encode(), status=status)

    def events(self, events: list) -> None:
        """Server-sent events; those with a `type` are named by it, a text is sent as it is."""
        out = ""
        for event in events:
            if isinstance(event, dict) and "type" in event:
                out += f"event: {event['type']}\n"
            out += f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n"
        self.reply(out.encode(), "text/event-stream")

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "fake-model", "object": "model"}], "models": []}
        self.document(models if "/models" in self.path else {})

    def do_HEAD(self) -> None:
        self.reply(b"")

    def do_POST(self) -> None:
        request, path = self.body(), self.path.split("?")[0]
        try:
            if path.endswith("/messages"):
                self.anthropic(request)
            elif path.endswith("/responses"):
                self.openai(request)
            elif path.endswith("/responses/compact"):
                self.document({"output": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": SUMMARY}]}]})
            elif path.endswith("/chat/completions"):
                self.chat(request)
            elif ":generateContent" in path or ":streamGenerateContent" in path:
                self.gemini(request, "stream" in path)
            else:
                self.document({"input_tokens": 100, "totalTokens": 100} if "ount" in path else {})
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as error:  # a fault of the rig is seen in the table
            self.model.served.append({"side": True, "error": repr(error), "run": None, "tokens": {}, "request": ""})
            self.document({"error": {"message": repr(error), "type": "invalid_request_error"}}, 400)

    def anthropic(self, request: dict) -> None:
        texts = []
        for message in request.get("messages", []):
            content = message.get("content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
            texts += [block["text"] for block in blocks if message.get("role") == "user" and block.get("type") == "text"]
        listed = request.get("tools", [])
        tools = Tools([tool["name"] for tool in listed], {tool["name"]: tool.get("input_schema") for tool in listed})
        if not tools.shell() and not tools.one_of("Read", "Write"):
            tools = Tools([], {})
        said = self.model.answer(request, texts, tools)
        tokens = said.tokens
        usage = {"input_tokens": tokens["in"], "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokens["cached"], "output_tokens": tokens["out"]}
        blocks = [{"type": "text", "text": said.text}] if said.text or not said.calls else []
        blocks += [{"type": "tool_use", "id": f"toolu_{ident}", "name": call.tool, "input": call.arguments} for ident, call in said.calls]
        stop = {"stop_reason": "tool_use" if said.calls else "end_turn", "stop_sequence": None}
        message = {"id": f"msg_{said.number:06}", "type": "message", "role": "assistant", "model": request.get("model"), "content": blocks, "usage": usage} | stop
        if not request.get("stream"):
            return self.document(message)
        begun = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
        events = [{"type": "message_start", "message": begun}]
        for n, block in enumerate(blocks):
            if block["type"] == "text":
                empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty, delta = block | {"input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": n, "content_block": empty})
            events.append({"type": "content_block_delta", "index": n, "delta": delta})
            events.append({"type": "content_block_stop", "index": n})
        self.events([*events, {"type": "message_delta", "delta": stop, "usage": usage}, {"type": "message_stop"}])

    def openai(self, request: dict) -> None:
        given = request.get("input", "")
        texts, agents = [], []
        for item in given if isinstance(given, list) else [{"role": "user", "content": given}]:
            # a sub-agent is told its task by a message of its own kind
            if item.get("role") == "user" or item.get("type") == "agent_message":
                texts.append(text_of(item.get("content")))
            elif item.get("type") == "function_call_output":
                agents += re.findall(r'"agent_id"\s*:\s*"([^"]+)"', json.dumps(item.get("output")).replace('\\"', '"'))
        names, schemas, plain = [], {}, set()
        # models of code mode are told their tools in the conversation
        told = [tool for item in given if isinstance(item, dict) and item.get("type") == "additional_tools" for tool in item["tools"]]
        for tool in request.get("tools", []) + told:
            space = "" if tool.get("name") == "functions" else f"{tool.get('name')}."
            for inner, before in [(one, space) for one in tool["tools"]] if tool.get("type") == "namespace" else [(tool, "")]:
                name = before + (inner.get("name") or inner["type"])
                names.append(name)
                schemas[name] = inner.get("parameters")
                if inner.get("type") == "custom":
                    plain.add(name)
        said = self.model.answer(request, texts, Tools(names, schemas, plain), agents)
        tokens = said.tokens
        usage = {"input_tokens": tokens["in"] + tokens["cached"], "input_tokens_details": {"cached_tokens": tokens["cached"]}}
        usage |= {"output_tokens": tokens["out"], "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": sum(tokens.values())}
        items = []
        if said.text or not said.calls:
            content = [{"type": "output_text", "text": said.text, "annotations": []}]
            items.append({"type": "message", "id": f"msg_{said.number:06}", "role": "assistant", "status": "completed", "content": content})
        for ident, call in said.calls:
            if isinstance(call.arguments, str):
                kind = {"type": "custom_tool_call", "id": f"ct_{ident}", "name": call.tool, "input": call.arguments}
            else:
                kind = {"type": "function_call", "id": f"fc_{ident}", "name": call.tool, "arguments": json.dumps(call.arguments)}
            space, _, name = call.tool.rpartition(".")
            items.append(kind | ({"namespace": space, "name": name} if space else {}) | {"call_id": ident, "status": "completed"})
        response = {"id": f"resp_{said.number:06}", "object": "response", "status": "completed", "model": request.get("model"), "output": items, "usage": usage}
        if not request.get("stream"):
            return self.document(response)
        events = [{"type": "response.created", "response": response | {"status": "in_progress", "output": []}}]
        for n, item in enumerate(items):
            is_message = item["type"] == "message"
            events.append({"type": "response.output_item.added", "output_index": n, "item": item | ({"content": []} if is_message else {})})
            if is_message:
                events.append({"type": "response.output_text.delta", "output_index": n, "content_index": 0, "item_id": item["id"], "delta": said.text})
            events.append({"type": "response.output_item.done", "output_index": n, "item": item})
        self.events([*events, {"type": "response.completed", "response": response}])

    def chat(self, request: dict) -> None:
        texts = [text_of(message.get("content")) for message in request.get("messages", []) if message.get("role") == "user"]
        offered = request.get("tools") or []
        listed = [tool["function"] for tool in offered if tool.get("type") == "function"]
        plain = [tool["custom"]["name"] for tool in offered if tool.get("type") == "custom"]
        names = [tool["name"] for tool in listed] + plain
        said = self.model.answer(request, texts, Tools(names, {tool["name"]: tool.get("parameters") for tool in listed}, set(plain)))
        tokens = said.tokens
        read = tokens["in"] + tokens["cached"]
        usage = {"prompt_tokens": read, "completion_tokens": tokens["out"], "total_tokens": read + tokens["out"]}
        usage["prompt_tokens_details"] = {"cached_tokens": tokens["cached"]}
        made = []
        for n, (ident, call) in enumerate(said.calls):
            if isinstance(call.arguments, str):
                made.append({"index": n, "id": ident, "type": "custom", "custom": {"name": call.tool, "input": call.arguments}})
            else:
                made.append({"index": n, "id": ident, "type": "function", "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}})
        stop = "tool_calls" if made else "stop"
        base = {"id": f"chatcmpl-{said.number:06}", "created": int(time.time()), "model": request.get("model")}
        message = {"role": "assistant", "content": said.text or None} | ({"tool_calls": made} if made else {})
        if not request.get("stream"):
            return self.document(base | {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": stop}], "usage": usage})
        base |= {"object": "chat.completion.chunk"}
        deltas = [({"role": "assistant", "content": said.text}, None), *([({"tool_calls": made}, None)] if made else []), ({}, stop)]
        chunks = [base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} for delta, finish in deltas]
        self.events([*chunks, base | {"choices": [], "usage": usage}, "[DONE]"])

    def gemini(self, request: dict, is_stream: bool) -> None:
        texts = []
        for content in request.get("contents", []):
            if content.get("role", "user") == "user":
                texts += [part["text"] for part in content.get("parts", []) if isinstance(part.get("text"), str)]
        declared = [tool for group in request.get("tools") or [] for tool in group.get("functionDeclarations") or []]
        tools = Tools([tool["name"] for tool in declared], {tool["name"]: tool.get("parametersJsonSchema") or tool.get("parameters") for tool in declared})
        # it asks for a document when it chooses a model or a next speaker
        wants_document = request.get("generationConfig", {}).get("responseMimeType") == "application/json"
        said = self.model.answer(request, texts, Tools([], {}) if wants_document else tools)
        if wants_document:
            said.text = json.dumps({"reasoning": "x", "model_choice": "pro", "complexity_reasoning": "x", "complexity_score": 10, "next_speaker": "user"})
        tokens = said.tokens
        read = tokens["in"] + tokens["cached"]
        usage = {"promptTokenCount": read, "candidatesTokenCount": tokens["out"], "thoughtsTokenCount": 0, "cachedContentTokenCount": tokens["cached"]}
        usage["totalTokenCount"] = read + tokens["out"]
        parts = [{"text": said.text}] if said.text or not said.calls else []
        parts += [{"functionCall": {"id": ident, "name": call.tool, "args": call.arguments}} for ident, call in said.calls]
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
        value = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
        self.events([value]) if is_stream else self.document(value)


def listening(model: Model) -> ThreadingHTTPServer:
    """A server of the model on a free port of the loopback address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("ModelHandler", (Handler,), {"model": model}))
    server.daemon_threads = True
    return server

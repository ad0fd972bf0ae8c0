"""One simulated reader: what JupyterLab asks of hub, server and kernel, without drawing it."""

import asyncio
import json
import time
import uuid

import httpx
from bs4 import BeautifulSoup
from jupyter_server.services.kernels.connection.base import deserialize_binary_message
from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect


class Reader:
    """A name, a password, a browser's cookies; later a server, a kernel and its widgets."""

    def __init__(self, hub, name, password):
        self.hub, self.name, self.password = hub, name, password
        self.http = httpx.AsyncClient(base_url=hub, follow_redirects=True, timeout=300)
        self.home = f"/user/{name}"
        self.kernel = None
        self.models = {}  # comm id -> state, as a front end's widget manager keeps it

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        if self.kernel:
            self.kernel.close()
        await self.http.aclose()

    def xsrf(self, path):
        """The cookie that a page of this path sends back as a header."""
        return next(each.value for each in self.http.cookies.jar if each.name == "_xsrf" and each.path == path)

    async def sign_in(self):
        """Fill in the login form; returns the status that this leads to."""
        await self.http.get("/hub/login")
        form = {"username": self.name, "password": self.password, "_xsrf": self.xsrf("/hub/")}
        return (await self.http.post("/hub/login", params={"next": "/hub/spawn"}, data=form)).status_code

    async def login(self):
        """From the login form to JupyterLab's page; returns the address that the hub leads to."""
        status = await self.sign_in()
        if status != 200:
            raise PermissionError(f"login as {self.name}: {status}")
        progress = f"/hub/api/users/{self.name}/server/progress"
        headers = {"X-XSRFToken": self.xsrf("/hub/"), "Accept": "text/event-stream"}
        async with self.http.stream("GET", progress, headers=headers) as events:
            async for line in events.aiter_lines():
                event = json.loads(line[5:]) if line.startswith("data:") else {}
                if event.get("failed"):
                    raise RuntimeError(f"server of {self.name}: {event['message']}")
                if event.get("ready"):
                    break
        answer = await self.http.get(f"{self.home}/")
        answer.raise_for_status()
        return answer.url.path

    async def ask(self, method, path, **options):
        """A request to the reader's own server, as its page sends it."""
        headers = {"X-XSRFToken": self.xsrf(f"{self.home}/")}
        answer = await self.http.request(method, f"{self.home}/{path}", headers=headers, **options)
        answer.raise_for_status()
        return answer

    async def open(self, notebook, scripts=()):
        """JupyterLab's own files, the notebook, and a kernel that answers."""
        for script in scripts:
            await self.ask("GET", script)
        self.notebook = (await self.ask("GET", f"api/contents/{notebook}")).json()["content"]
        about = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {"name": "python3"}}
        self.session = (await self.ask("POST", "api/sessions", json=about)).json()
        self.kernel = await self.connect(self.home, self.session["kernel"]["id"])
        await self.request("kernel_info_request", {})

    async def connect(self, home, kernel):
        """The websocket of a kernel of the server at `home`, with the cookies that a browser would send there."""
        address = f"{home}/api/kernels/{kernel}/channels?session_id={uuid.uuid4().hex}"
        cookies = self.http.build_request("GET", address).headers.get("cookie", "")
        url = self.hub.replace("http", "ws") + address
        return await websocket_connect(HTTPRequest(url, headers={"Cookie": cookies}, request_timeout=300))

    async def close(self):
        """Shut this notebook's kernel down."""
        self.kernel.close()
        await self.ask("DELETE", f"api/sessions/{self.session['id']}")
        self.models.clear()

    async def request(self, kind, content):
        """Send a message to the kernel; returns all that comes before the kernel is idle again."""
        own = uuid.uuid4().hex
        header = {"msg_id": own, "msg_type": kind, "username": self.name, "session": own, "version": "5.3"}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
        await self.kernel.write_message(json.dumps(message))
        heard = []
        while True:
            raw = await self.kernel.read_message()
            if raw is None:
                raise ConnectionError(f"the kernel of {self.name} is gone while it answers a {kind}")
            message = deserialize_binary_message(raw) if isinstance(raw, bytes) else json.loads(raw)
            content = message["content"]
            if message["msg_type"] == "comm_open":
                self.models[content["comm_id"]] = dict(content["data"]["state"])
            elif message["msg_type"] == "comm_msg" and content["data"].get("method") in ("update", "echo_update"):
                self.models[content["comm_id"]].update(content["data"]["state"])
            if message["parent_header"].get("msg_id") == own:
                heard.append(message)
                if message["msg_type"] == "status" and content["execution_state"] == "idle":
                    return heard

    async def execute(self, code):
        """Run code in the kernel; returns what it prints. An error in it is raised here."""
        heard = await self.request("execute_request", {"code": code, "silent": False, "stop_on_error": True})
        errors = [each["content"] for each in heard if each["msg_type"] == "error"]
        if errors:
            raise RuntimeError(f"{self.name}: {errors[0]['ename']}: {errors[0]['evalue']}")
        return "".join(each["content"]["text"] for each in heard if each["msg_type"] == "stream")

    async def run(self):
        """All code cells, one after the other, as JupyterLab's Run All."""
        for cell in self.notebook["cells"]:
            if cell["cell_type"] == "code":
                await self.execute("".join(cell["source"]))

    def explorers(self):
        """Each explorer's comm id, and its controls by name: how many values they have."""
        for comm, model in self.models.items():
            if controls := sizes(model.get("markup", "")):
                yield comm, controls

    async def toggle(self, chance):
        """Change one control to another value; seconds until the new state has arrived and the kernel is idle.

        None where the kernel had no state to give.
        """
        comm, controls = chance.choice(list(self.explorers()))
        model, name = self.models[comm], chance.choice(list(controls))
        value = chance.choice([index for index in range(controls[name]) if index != model[name]])
        begun = time.perf_counter()
        update = {"method": "update", "state": {name: value}, "buffer_paths": []}
        await self.request("comm_msg", {"comm_id": comm, "data": update})
        model[name] = value
        wanted = {"state": [model[each] for each in controls]}
        heard = await self.request("comm_msg", {"comm_id": comm, "data": {"method": "custom", "content": wanted}})
        seconds = time.perf_counter() - begun
        answers = [each["content"]["data"].get("content") for each in heard if each["msg_type"] == "comm_msg"]
        return seconds if wanted in answers else None

    async def leave(self):
        """Stop this reader's server."""
        headers = {"X-XSRFToken": self.xsrf("/hub/")}
        while (await self.http.delete(f"/hub/api/users/{self.name}/server", headers=headers)).status_code == 202:
            await asyncio.sleep(0.5)


def sizes(markup):
    """The controls of an explorer's markup in its own order, and how many values each has."""
    page = BeautifulSoup(markup, "html.parser")
    found = {}
    for each in page.select("[data-control]"):
        kind = each.get("type", "select")
        count = {"checkbox": 2, "range": int(each.get("max", 0)) + 1, "select": len(each.select("option"))}
        name = each["data-name"]
        found[name] = count.get(kind) or found.get(name, 0) + 1
    return found

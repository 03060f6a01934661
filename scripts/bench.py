"""Runs fedkit and its peers on the same task, in turn and several times.

Prints a line of JSON for each run, and a table of medians with fedkit's time as a multiple of each peer's. Used by
./scripts/bench.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PEERS = ROOT / "scripts" / "peers"


def peer(env, script, *more, rounds=None, under=()):
    python = VENV / env / "bin" / "python"
    return lambda task, n: [*under, str(python), str(PEERS / script), task, str(min(n, rounds or n)), *more]


def fedkit(task, n):
    return [str(ROOT / "scripts" / "malloc"), str(VENV / "bin" / "benchmark"), "-rounds", str(n), task]


SYSTEMS = {
    "mnist-mlp": {
        "fedkit": fedkit,
        "jax-vmap": peer("bench", "jax_vmap.py"),
        "fedjax": peer("fedjax", "fedjax_avg.py"),
        "torch-loop": peer("bench", "torch_loop.py"),
        "pfl-research": peer("bench", "pfl_avg.py"),
        "flower-sim": peer("bench", "flower_sim.py", rounds=6),
    },
    "cifar-lenet": {
        "fedkit": fedkit,
        "jax-step": peer("bench", "jax_vmap.py", "step"),
        "jax-vmap": peer("bench", "jax_vmap.py", rounds=4),
        "torch-loop": peer("bench", "torch_loop.py"),
    },
    "femnist-cnn": {
        "fedkit": fedkit,
        "fedkit-gomlx": lambda task, n: fedkit(task + "-gomlx", n),
        "jax-step": peer("bench", "jax_vmap.py", "step"),
        "jax-vmap": peer("bench", "jax_vmap.py", rounds=4),
        "torch-loop": peer("bench", "torch_loop.py"),
    },
}
SYSTEMS["cifar-resnet8"] = SYSTEMS["femnist-cnn"]

# Networks of other kinds, beside PyTorch alone.
NETWORKS = ["chars-lstm", "chars-transformer", "words-transformer", "cifar-resnet18", "emnist-cnn"]
SYSTEMS |= {task: {"fedkit": fedkit, "torch-loop": peer("bench", "torch_loop.py")} for task in NETWORKS}

# What runs on a GPU: JAX as it comes, which computes products in TF32 there, and in float32, as fedkit does.
GPU = {
    "fedkit": fedkit,
    "jax-vmap": peer("bench", "jax_vmap.py"),
    "jax-float32": peer("bench", "jax_vmap.py", under=("/usr/bin/env", "JAX_DEFAULT_MATMUL_PRECISION=highest")),
}
COHORTS = [f"{task}-{n}" for task in ("cohort", "lenet") for n in (10, 100, 1000)]

# What is measured besides rounds: each is a line of JSON with times in milliseconds.
PARTS = {
    "server": {"fedkit": fedkit, "numpy": peer("bench", "numpy_server.py")},
    "evaluate": {"fedkit": fedkit},
    "cohort-10": {"fedkit": fedkit},
    "cohort-100": {"fedkit": fedkit},
    "cohort-1000": {"fedkit": fedkit},
    "population": {"fedkit": fedkit},
    "rows": {"fedkit": fedkit},
    "cifar-resnet18-10": {"fedkit": lambda task, n: fedkit(task, 2)},  # for its memory
}

# The same for clustering: 2,000 points on the host and on the device, the linkages of 10,000, and what clustering adds to a round.
CLUSTER = {part: {"fedkit": fedkit, "scikit-learn": peer("bench", "sklearn_cluster.py")} for part in ("cluster", "cluster-device", "cluster-10000")}
CLUSTER["cluster-round"] = {"fedkit": fedkit}


def run(name, command, env):
    """Runs one process. Returns its last line of JSON, or None with the reason on stderr."""
    if not Path(command[0]).exists():
        print(f"{name}: not installed; ./scripts/bench setup installs the peers", file=sys.stderr)
        return None
    time.sleep(3)  # lets whatever the previous run left behind end
    done = subprocess.run(command, env=env, cwd=PEERS, capture_output=True, text=True)
    lines = [s for s in done.stdout.splitlines() if s.startswith("{")]
    if done.returncode or not lines:
        said = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
        print(f"{name}: failed: {said[-1]}", file=sys.stderr)
        return None
    result = json.loads(lines[-1])
    result["peer"] = name
    print(json.dumps(result), flush=True)
    return result


def compiling(r):
    """Seconds that making the model and the first round take more than a round."""
    return r.get("new_s", 0) + r["first_round_s"] - r["ms_per_round"] / 1000


def table(task, results):
    ours = results["fedkit"]
    median = lambda rs, key: statistics.median(r[key] for r in rs)
    print(f"\n{task}\n{'':14}{'ms per round':>14}{'fedkit takes':>14}{'first round':>13}{'compiling':>11}{'process':>10}{'memory':>10}{'accuracy':>10}")
    for name, rs in results.items():
        if not rs:
            continue
        ratio = ""
        if ours and name != "fedkit":  # run by run, since the machine's speed drifts
            ratio = f"{statistics.median(a['ms_per_round'] / b['ms_per_round'] for a, b in zip(ours, rs)):.2f} ×"
        print(
            f"{name:14}{median(rs, 'ms_per_round'):>14.1f}{ratio:>14}"
            f"{median(rs, 'first_round_s'):>11.2f} s{statistics.median(map(compiling, rs)):>9.2f} s{median(rs, 'total_s'):>8.1f} s{median(rs, 'peak_rss_mb'):>7.0f} MB"
            f"{100 * median(rs, 'test_accuracy'):>8.1f} %"
        )
    print("fedkit takes: fedkit's time per round / the peer's, median over the runs; compiling: what the first round takes more than others,")
    print("with fedkit.New", flush=True)


def parts_table(part, results):
    ours = results["fedkit"]
    for name, rs in results.items():
        if name == "fedkit" or not ours or not rs:
            continue
        print(f"\n{part:14}{'fedkit':>12}{name:>15}{'fedkit takes':>14}")
        for key in (k for k in ours[0] if k.endswith(("_ms", "_mb"))):
            mine, theirs = ([r[key] for r in which] for which in (ours, rs))
            ratio = statistics.median(a / b for a, b in zip(mine, theirs))
            unit = "ms" if key.endswith("_ms") else "MB"
            print(f"{key[:-3]:14}{statistics.median(mine):>9.1f} {unit}{statistics.median(theirs):>12.1f} {unit}{ratio:>12.2f} ×", flush=True)


def alternate(task, systems, args, env, show):
    """Runs all systems in turn, --runs times. A system that fails once is left out."""
    systems, results = dict(systems), {name: [] for name in systems}
    for _ in range(args.runs):
        for name, command in list(systems.items()):
            result = run(name, command(task, args.rounds), env)
            if result is None:
                del systems[name]
            else:
                results[name].append(result)
    show(task, results)
    if not results["fedkit"]:
        sys.exit(f"{task}: fedkit was not measured")


def main():
    parser = argparse.ArgumentParser(prog="./scripts/bench", description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="*", help=f"{', '.join(SYSTEMS)} (default: all), parts, cluster, or gpu")
    parser.add_argument("--rounds", type=int, default=21, help="rounds per run; the first is left out of the median (21)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each system, in turn (3)")
    parser.add_argument("--only", metavar="NAME,…", help="only these systems besides fedkit")
    args = parser.parse_intermixed_args()
    if args.task != ["cluster"] and not os.environ.get("FEDKIT_DATA"):
        sys.exit("set FEDKIT_DATA to the folder that holds mnist/ and cifar-10-batches-bin/")
    env = {**os.environ, "GOMLX_NO_AUTO_INSTALL": "1", "FEDKIT_PROGRAMS": "off"}  # who compiles, compiles again
    tasks, gpu = [t for t in args.task if t != "gpu"], "gpu" in args.task
    if gpu:
        env |= {"GOMLX_BACKEND": "xla:cuda", "JAX_PLATFORMS": "cuda"}  # either one fails if there is no GPU
    for task in tasks or ([t for t in SYSTEMS if t not in NETWORKS] + COHORTS if gpu else SYSTEMS):
        if task in ("parts", "cluster"):
            for part, systems in (PARTS if task == "parts" else CLUSTER).items():
                alternate(part, systems, args, env, parts_table)
            continue
        if task not in [*SYSTEMS, *(COHORTS if gpu else ())]:
            sys.exit(f"no task {task!r}; there are: {', '.join(SYSTEMS)}, parts, cluster")
        systems = {n: c for n, c in (GPU if gpu else SYSTEMS[task]).items() if n == "fedkit" or not args.only or n in args.only.split(",")}
        if gpu:
            print("(JAX needs its CUDA wheels for this: .venv/bench/bin/pip install 'jax[cuda13]==0.11.2')")
        alternate(task, systems, args, env, table)


if __name__ == "__main__":
    main()

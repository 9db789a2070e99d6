"""The comparison of vector indexes: the vectors, faiss's half, and the tables.

Usage: python compare.py REAL.f32 WORK SERVE [--quick] [--million] [--json]

REAL has vectors of real text, SERVE is the Go half. Each contender has one thread and
answers one query at a time; they take turns. Times are CPU times of the thread, so that
other programs matter less; those of faiss have some microseconds of Python in them.
"""

import json
import subprocess
import sys
import time

import faiss
import numpy as np

DIMENSIONS, RESULTS, REFINE, QUERIES = 384, 10, 50, 200


def unit(x):
    return np.ascontiguousarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)


class Data:
    """Vectors: real ones, Gaussian ones of their covariance, and clusters around them."""

    def __init__(self, path):
        self.real = unit(np.fromfile(path, np.float32).reshape(-1, DIMENSIONS))
        self.mean = self.real.mean(0)
        spread = np.cov(self.real.T) + 1e-9 * np.eye(DIMENSIONS)
        self.root = np.linalg.cholesky(spread).T.astype(np.float32)
        self.rand = np.random.default_rng(7)

    def noise(self, n):
        return self.rand.standard_normal((n, DIMENSIONS), np.float32) @ self.root

    def make(self, kind, n):
        n += QUERIES
        if kind == "text":
            x = self.real[:n]
        elif kind == "Gaussian":
            x = np.concatenate([unit(self.mean + self.noise(min(100_000, n - i))) for i in range(0, n, 100_000)])
        else:
            x = unit(self.real[self.rand.integers(0, len(self.real), n)] + 0.5 * self.noise(n))
        return x[:-QUERIES], x[-QUERIES:]


class Oriel:
    def __init__(self, serve, base, queries, kernel, refine):
        self.name = "Oriel" + (f" {kernel}" if kernel else "") + (f" + float32 of {REFINE}" if refine else "")
        self.refine = REFINE if refine else 0
        env = {"GOMAXPROCS": "1", "GOGC": "off"} | ({"ORIEL_KERNEL": kernel} if kernel else {})
        self.process = subprocess.Popen([serve, "serve", base, queries], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        word, size = self.process.stdout.readline().split()
        assert word == "ready"
        self.bytes = int(size)

    def run(self, start, count):
        self.process.stdin.write(f"{start} {count} {self.refine}\n")
        self.process.stdin.flush()
        for _ in range(count):
            took, *ids = map(int, self.process.stdout.readline().split())
            yield took, ids

    def close(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            sys.exit("compare.py: the Go half failed")


class Faiss:
    def __init__(self, name, index, queries, size, **search):
        self.name, self.index, self.queries, self.bytes = name, index, queries, size
        self.search = search

    def run(self, start, count):
        for i in range(start, start + count):
            q = self.queries[i : i + 1]
            before = time.thread_time_ns()
            _, ids = self.index.search(q, RESULTS, **self.search)
            yield time.thread_time_ns() - before, ids[0].tolist()

    def close(self):
        pass


def contenders(serve, base_file, query_file, base, queries, hnsw, kernels):
    for kernel in kernels:
        yield Oriel(serve, base_file, query_file, kernel, False)
    yield Oriel(serve, base_file, query_file, "", True)
    yield from rivals(base, queries, hnsw)


def rivals(base, queries, hnsw):
    n, size = len(base), base.nbytes
    flat = faiss.IndexFlatIP(DIMENSIONS)
    flat.add(base)
    yield Faiss("faiss flat", flat, queries, size)
    sq8 = faiss.IndexScalarQuantizer(DIMENSIONS, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    sq8.train(base[:100_000])
    sq8.add(base)
    yield Faiss("faiss SQ8", sq8, queries, n * sq8.code_size)
    refined = faiss.IndexRefine(sq8, flat)
    yield Faiss(f"faiss SQ8 + float32 of {REFINE}", refined, queries, n * sq8.code_size + size,
                params=faiss.IndexRefineSearchParameters(k_factor=REFINE / RESULTS))
    if hnsw:
        graph = faiss.IndexHNSWFlat(DIMENSIONS, 32, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efSearch = 64
        faiss.omp_set_num_threads(2)
        graph.add(base)
        faiss.omp_set_num_threads(1)
        yield Faiss("faiss HNSW32, ef 64", graph, queries, size + n * 64 * 4)


def compare(data, kind, n, serve, work, rounds, hnsw, kernels):
    base, queries = data.make(kind, n)
    base_file, query_file = f"{work}/base.f32", f"{work}/queries.f32"
    base.tofile(base_file)
    queries.tofile(query_file)
    all_of_them = list(contenders(serve, base_file, query_file, base, queries, hnsw, kernels))
    faiss.omp_set_num_threads(1)
    truth = [set(ids) for _, ids in next(c for c in all_of_them if c.name == "faiss flat").run(0, QUERIES)]
    times, found = {c.name: [] for c in all_of_them}, {c.name: [] for c in all_of_them}
    turn = max(1, QUERIES // rounds)
    for start in range(0, turn * rounds, turn):
        for c in all_of_them:
            for i, (took, ids) in enumerate(c.run(start, turn)):
                times[c.name].append(took / 1e6)
                found[c.name].append(len(truth[start + i] & set(ids)) / RESULTS)
    rows = []
    for c in all_of_them:
        c.close()
        t = times[c.name]
        rows.append({"name": c.name, "vectors": kind, "count": n, "p50": np.percentile(t, 50), "p95": np.percentile(t, 95), "least": min(t),
                     "recall": float(np.mean(found[c.name])), "bytes": c.bytes / n, "queries": len(t)})
    p50 = {r["name"]: r["p50"] for r in rows}
    for r in rows:
        r["x_flat"] = p50["faiss flat"] / r["p50"]
        r["x_refined"] = p50[f"faiss SQ8 + float32 of {REFINE}"] / r["p50"]
    return rows


def report(rows):
    print(f"\n{rows[0]['count']:,} vectors, {rows[0]['vectors']}, {rows[0]['queries']} queries:\n")
    print("| | p50 ms | p95 | least | recall@10 | × flat | × SQ8 + float32 | bytes a vector |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for r in rows:
        print(f"| {r['name']} | {r['p50']:.3f} | {r['p95']:.3f} | {r['least']:.3f} | {r['recall']:.4f} | "
              f"{r['x_flat']:.2f} | {r['x_refined']:.2f} | {r['bytes']:.0f} |", flush=True)


def main():
    flags = {a for a in sys.argv[1:] if a.startswith("--")}
    real, work, serve = [a for a in sys.argv[1:] if a not in flags]
    quick = "--quick" in flags
    data = Data(real)
    kernels = [""] if quick else ["", "avx2"]
    plan = [("text", 10_000, 40, True), ("Gaussian", 100_000, 20, not quick)]
    if not quick:
        plan.append(("clustered", 100_000, 20, True))
    if "--million" in flags:
        plan.append(("Gaussian", 1_000_000, 20, False))
    results = []
    for kind, n, rounds, hnsw in plan:
        rows = compare(data, kind, n, serve, work, rounds, hnsw, kernels)
        results += rows
        if "--json" not in flags:
            report(rows)
    if "--json" in flags:
        json.dump(results, sys.stdout, indent=1)
        return
    print("\nOne thread each; CPU time of a query for the 10 nearest. Above 1 is faster than the rival. Recall is what is")
    print("found of the ten nearest by float32. Bytes are those of the vectors; refining needs 1,536 more, which Oriel reads")
    print("from the caller.")


if __name__ == "__main__":
    main()

"""The comparison of whole recalls: the others' half, and the table.

Usage: python whole.py FOLDER SERVE [--large]

FOLDER has texts, vectors and queries; SERVE is the Go half. Every contender is given
the text and the vector of a query, and searches by both, on one core; they take turns.
Times are CPU times of the process, all of its threads: what one core would take. A
contender that cannot run is named with the reason.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vector"))
DIMENSIONS, RESULTS, ROUNDS = 384, 10, 10


class Corpus:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.scratch = tempfile.mkdtemp(prefix="scratch-", dir=os.path.dirname(self.folder))
        read = lambda name: [json.loads(line) for line in open(f"{folder}/{name}.jsonl", encoding="utf-8")]
        load = lambda name: np.memmap(f"{folder}/{name}.f32", np.float32, "r").reshape(-1, DIMENSIONS)
        self.queries, self.asked, self.vectors = read("queries"), np.array(load("queries")), load("vectors")
        self.texts = read("texts")[: len(self.vectors)]


class Oriel:
    """Its search packs 2,048 tokens, with neighbours, dates, speakers; the others give a list of ten."""

    def __init__(self, serve, folder, how):
        self.name, self.how = {"given": "Oriel", "embed": "Oriel, with the query's embedding"}[how], how
        env = os.environ | {"GOMAXPROCS": "1"}
        self.process = subprocess.Popen([serve, "serve", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        word, self.passages, size = self.process.stdout.readline().split()
        assert word == "ready"
        self.bytes = int(size)

    def run(self, start, count):
        self.process.stdin.write(f"{start} {count} {self.how}\n")
        self.process.stdin.flush()
        for _ in range(count):
            yield int(self.process.stdout.readline().split()[0])

    def again(self, how):
        """The same process, asked in another way."""
        other = object.__new__(Oriel)
        other.__dict__ = self.__dict__ | {"how": how, "name": "Oriel, with the query's embedding"}
        return other


class Rival:
    def __init__(self, name, search, corpus):
        self.name, self.search, self.corpus = name, search, corpus

    def run(self, start, count):
        for i in range(start, start + count):
            before = time.process_time_ns()
            self.search(self.corpus.queries[i], self.corpus.asked[i])
            yield time.process_time_ns() - before


def fuse(*lists):
    """Reciprocal rank fusion, as hybrid searches do it."""
    score = {}
    for found in lists:
        for rank, i in enumerate(found):
            score[i] = score.get(i, 0) + 1 / (60 + rank)
    return sorted(score, key=score.get, reverse=True)[:RESULTS]


def faiss_indexes(c):
    import compare as vectors  # of tools/bench/vector, which has the same contenders
    import faiss

    faiss.omp_set_num_threads(1)
    base = np.ascontiguousarray(c.vectors)
    for found in vectors.rivals(base, c.asked, len(base) < 500_000):
        yield found.name, lambda v, k, found=found: found.index.search(v[None], k, **found.search)[1][0].tolist()


def bm25s_index(c):
    import bm25s

    def words(texts, **more):
        return bm25s.tokenize(texts, stopwords="en", show_progress=False, **more)

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
    index.index(words(c.texts), show_progress=False)
    index.activate_numba_scorer()
    return lambda q, k: index.retrieve(words([q], return_ids=False), k=k, show_progress=False, n_threads=1)[0][0].tolist()


def tantivy_index(c):
    import tantivy

    schema = tantivy.SchemaBuilder().add_integer_field("doc", stored=True, fast=True).add_text_field("text", tokenizer_name="en_stem").build()
    index = tantivy.Index(schema)
    writer = index.writer(heap_size=256 << 20, num_threads=1)
    for number, text in enumerate(c.texts):
        writer.add_document(tantivy.Document(doc=number, text=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(q, k):
        query = index.parse_query(q.replace("?", " "), ["text"])
        return [searcher.doc(address)["doc"][0] for _, address in searcher.search(query, k, count=False).hits]

    return search


def lancedb_hybrid(c):
    import lancedb
    import pyarrow as pa

    db = lancedb.connect(f"{c.scratch}/lancedb")
    table = pa.table({
        "text": c.texts,
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(c.vectors).ravel()), DIMENSIONS),
    })
    t = db.create_table("passages", table)
    from lancedb.index import FTS
    try:
        t.create_index("text", config=FTS())
    except TypeError:
        t.create_fts_index("text")

    def search(q, v):
        return t.search(query_type="hybrid").vector(v).text(q).limit(RESULTS).to_list()

    return search


def chromadb_query(c):
    import chromadb
    from chromadb.config import Settings

    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    collection = client.create_collection("passages", embedding_function=None, metadata={"hnsw:space": "cosine", "hnsw:num_threads": 1})
    step = min(5000, client.get_max_batch_size())
    for i in range(0, len(c.texts), step):
        n = min(step, len(c.texts) - i)
        collection.add(ids=[str(k) for k in range(i, i + n)], embeddings=np.asarray(c.vectors[i : i + n]), documents=c.texts[i : i + n])

    def search(q, v):
        longest = max(q.rstrip("?").split()[2:], key=len, default="")
        return collection.query(query_embeddings=[v], n_results=RESULTS, where_document={"$contains": longest})

    return search


def mem0_search(c):
    folder = f"{c.scratch}/mem0"
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": folder}
    from mem0 import Memory

    memory = Memory.from_config({
        "embedder": {"provider": "openai", "config": {"embedding_dims": DIMENSIONS}},
        "vector_store": {"provider": "faiss", "config": {"path": f"{folder}/faiss", "embedding_model_dims": DIMENSIONS, "collection_name": "passages"}},
        "history_db_path": f"{folder}/history.db",
    })
    vectors = {}

    class Stub:
        config = memory.embedding_model.config

        def embed(self, text, *_, **__):
            return vectors[text].tolist()

        def embed_batch(self, texts, *_, **__):
            return [self.embed(t) for t in texts]

    memory.embedding_model = Stub()
    step = 5000
    for i in range(0, len(c.texts), step):
        part = c.texts[i : i + step]
        memory.vector_store.insert(
            vectors=np.asarray(c.vectors[i : i + len(part)]).tolist(),
            ids=[f"{k:032x}" for k in range(i, i + len(part))],
            payloads=[{"data": t, "user_id": "u", "hash": str(k)} for k, t in enumerate(part, i)],
        )

    def search(q, v):
        vectors[q] = v
        try:
            return memory.search(q, filters={"user_id": "u"}, top_k=RESULTS)
        except TypeError:
            return memory.search(q, user_id="u", limit=RESULTS)

    return search


def contenders(c, serve, large):
    oriel = Oriel(serve, c.folder, "given")
    yield oriel
    yield oriel.again("embed")

    def attempt(name, make):
        began = time.time()
        try:
            search = make()
            search(c.queries[0], c.asked[0])
        except Exception as e:  # whatever it is, the others go on
            print(f"{name} does not run: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
            return []
        print(f"{name}: made in {time.time() - began:.0f} s", file=sys.stderr)
        return [Rival(name, search, c)]

    indexes = list(faiss_indexes(c))
    for name, search in indexes:
        yield Rival(name + " (vectors alone)", lambda q, v, search=search: search(v, RESULTS), c)
    if large:
        return
    flat = dict(indexes)["faiss flat"]
    for name, make in ("bm25s with numba", bm25s_index), ("tantivy", tantivy_index):
        made = {}

        def words(make=make, made=made):
            made["search"] = make(c)
            return lambda q, v: made["search"](q, RESULTS)

        yield from attempt(name + " (words alone)", words)
        if made:
            yield from attempt(f"faiss flat + {name}, fused", lambda made=made: lambda q, v: fuse(flat(v, 50), made["search"](q, 50)))
    yield from attempt("lancedb, hybrid", lambda: lancedb_hybrid(c))
    yield from attempt("chromadb, where_document", lambda: chromadb_query(c))
    if len(c.texts) < 50_000:
        yield from attempt("mem0, stub embedder, faiss", lambda: mem0_search(c))


def main():
    folder, serve = [a for a in sys.argv[1:] if not a.startswith("--")]
    c = Corpus(folder)
    every = list(contenders(c, serve, "--large" in sys.argv))
    times = {r.name: [] for r in every}
    turn = max(1, len(c.queries) // ROUNDS)
    for start in range(0, turn * ROUNDS, turn):
        for r in every:
            times[r.name] += [took / 1e6 for took in r.run(start, turn)]
    p50 = {name: float(np.percentile(t, 50)) for name, t in times.items()}
    p95 = {name: float(np.percentile(t, 95)) for name, t in times.items()}
    ours = every[0].name
    print(f"\n{len(c.texts):,} passages, {len(times[ours])} queries; Oriel takes {every[0].bytes} bytes a passage, all in:\n")
    print("| | p50 ms | p95 | × ours p50 | × ours p95 |")
    print("|---|--:|--:|--:|--:|")
    for name in times:
        print(f"| {name} | {p50[name]:.2f} | {p95[name]:.2f} | {p50[name] / p50[ours]:.1f} | {p95[name] / p95[ours]:.1f} |")
    sys.stdout.flush()
    shutil.rmtree(c.scratch, ignore_errors=True)
    os._exit(0)  # some of them have threads that do not end


if __name__ == "__main__":
    main()

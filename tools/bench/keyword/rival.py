"""One rival of Oriel's keyword index: rival.py NAME DOCS QUERIES REPEAT STOPWORDS.

Prints one JSON object: documents a second from text to an index that can be
searched, and for every query the least of REPEAT times from text to the ten
best documents. All contenders have the same terms: the words of the texts are
their own stems, and the same stop words are left out."""
import json
import sys
import time

name, docs_file, queries_file, repeat, stop = sys.argv[1:]
docs = [json.loads(line) for line in open(docs_file, encoding="utf-8")]
queries = [json.loads(line) for line in open(queries_file, encoding="utf-8")]
stop = stop.split()


def bm25s(backend):
    import bm25s

    def words(texts):
        return bm25s.tokenize(texts, lower=True, token_pattern=r"[a-z0-9']+", stopwords=stop, show_progress=False)

    def build():
        index = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend=backend)
        index.index(words(docs), show_progress=False)
        if backend == "numba":
            index.activate_numba_scorer()
        return index

    if backend == "numba":  # compile before the clock starts
        global docs
        every, docs = docs, docs[:100]
        small = build()
        small.retrieve(words([queries[0]]), k=10, show_progress=False, n_threads=1)
        docs = every

    def search(index, query):
        tokens = bm25s.tokenize([query], lower=True, token_pattern=r"[a-z0-9']+", stopwords=stop, show_progress=False, return_ids=False)
        found, _ = index.retrieve(tokens, k=10, show_progress=False, n_threads=1)
        return [int(doc) for doc in found[0]]

    return build, search


def tantivy():
    import tantivy

    def build():
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("doc", stored=True, fast=True)
        schema.add_text_field("text", tokenizer_name="same", index_option="freq")
        index = tantivy.Index(schema.build())
        analyser = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        analyser = analyser.filter(tantivy.Filter.lowercase()).filter(tantivy.Filter.custom_stopword(stop))
        index.register_tokenizer("same", analyser.build())
        writer = index.writer(heap_size=512 << 20, num_threads=1)
        for number, text in enumerate(docs):
            writer.add_document(tantivy.Document(doc=number, text=text))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        return index, index.searcher()

    def search(pair, query):
        index, searcher = pair
        hits = searcher.search(index.parse_query(query, ["text"]), 10, count=False).hits
        return [address for _, address in hits]

    return build, search


contenders = {
    "bm25s with numba": lambda: bm25s("numba"),
    "bm25s with numpy": lambda: bm25s("numpy"),
    "tantivy": tantivy,
}
build, search = contenders[name]()
start = time.perf_counter()
index = build()
rate = len(docs) / (time.perf_counter() - start)
search(index, queries[0])
times, tops = [], []
for query in queries:
    best = None
    for _ in range(int(repeat)):
        start = time.perf_counter()
        top = search(index, query)
        took = (time.perf_counter() - start) * 1000
        best = took if best is None else min(best, took)
    times.append(best)
    if name == "tantivy":  # looked up off the clock
        top = [index[1].doc(address)["doc"][0] for address in top]
    tops.append(top)
print(json.dumps({"name": name, "docs_per_second": rate, "ms": times, "top": tops}))

//! The bpe-openai half of the comparison. Same arguments and output as `bpe`:
//! rival FILE ENCODING CHUNK REPEATS

fn cpu() -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as i64 * 1_000_000_000 + t.tv_nsec as i64
}

fn chunks(mut s: &str, size: usize) -> Vec<&str> {
    if size == 0 {
        return vec![s];
    }
    let mut parts = Vec::new();
    while s.len() > size {
        let mut n = size;
        while !s.is_char_boundary(n) {
            n -= 1;
        }
        parts.push(&s[..n]);
        s = &s[n..];
    }
    parts.push(s);
    parts
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let tokenizer = match args[2].as_str() {
        "cl100k_base" => bpe_openai::cl100k_base(),
        "o200k_base" => bpe_openai::o200k_base(),
        other => panic!("unknown encoding {other}"),
    };
    let parts = chunks(&text, args[3].parse().unwrap());
    let repeats: usize = args[4].parse().unwrap();
    let mut total = 0;
    let mut times = Vec::new();
    for _ in 0..=repeats {
        let start = cpu();
        total = parts.iter().map(|p| tokenizer.count(*p)).sum::<usize>();
        times.push((cpu() - start).to_string());
    }
    println!("bpe-openai {} {} {} {} {}", args[2], args[3], total, text.len(), times[1..].join(" "));
}

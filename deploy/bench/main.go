// Bench measures Paragents, each figure beside what it is to be compared with, in one run on one machine: only ratios travel.
//
// It prints start-up and idle memory of the terminal; the cost of a judgement and of a commit; and, where the neutral load harness imload lies at -imload, how many
// messages a second a chat bot answers, beside the harness's own minimal bot. Everything listens on loopback and is bounded in count and time.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin/paragents", "the program")
	imload := flag.String("imload", "../shared/bench/imload", "sources of the load harness")
	quick := flag.Bool("quick", false, "a tenth of the load")
	flag.Parse()
	if err := run(*bin, *imload, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, imload string, quick bool) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "paragents-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := terminal(bin, dir); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	if err := benchmarks(); err != nil {
		return err
	}
	if _, err := os.Stat(imload); err != nil {
		fmt.Printf("\nno load harness at %s: the chat figures are left out\n", imload)
		return nil
	}
	return chats(bin, imload, dir, quick)
}

// terminal measures from the start of the process to its first line, and its memory after a second of rest.
func terminal(bin, dir string) error {
	var best time.Duration
	var rss int64
	for i := range 5 {
		home := filepath.Join(dir, fmt.Sprint("terminal", i))
		if err := os.MkdirAll(home, 0o700); err != nil {
			return err
		}
		cmd := exec.Command(bin, "chat", "--plain")
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+home, "PARAGENTS_LLM_PROVIDER=demo")
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return err
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			return err
		}
		if took := time.Since(began); best == 0 || took < best {
			best = took
		}
		time.Sleep(time.Second)
		if rss, err = residentSet(cmd.Process.Pid); err != nil {
			return err
		}
		if _, err := io.WriteString(in, "/quit\n"); err != nil {
			return err
		}
		in.Close()
		go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the process
		if err := cmd.Wait(); err != nil {
			return err
		}
	}
	fmt.Printf("start-up to the first line: %d ms (aim 50), idle memory: %.1f MiB (aim 25)\n", best.Milliseconds(), float64(rss)/(1<<20))
	return nil
}

func residentSet(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw))
	if len(fields) < 2 {
		return 0, errors.New("statm is too short")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// benchmarks runs the Go benchmarks that have an aim.
func benchmarks() error {
	const short, long = "300ms", "3s" // long: a percentile wants many
	for _, b := range []struct{ pkg, pattern, time, aim string }{
		{"./core/policy", "Judge", short, "a usual line 0.1 ms, 64 KiB 100 ms"},
		{"./core/preflight", "Conflicts", short, ""},
		{"./core/claims", "Conflicts", short, "1 ms with 1,000 live claims"},
		{"./store/local", "Commit", short, ""},
		{"./store/redis", "Commit", short, ""},
		{"./core/scheduler", "Stored|Press", long, "p99 at a million stored sessions at most twice that at a thousand"},
		{"./bot/markup", "Render", short, ""},
		{"./adapters/slack", "Ack", short, "acknowledged within a second at 200 events a second"},
		{"./cmd/paragents/app", "Press", short, ""},
	} {
		cmd := exec.Command("go", "test", "-run", "^$", "-bench", b.pattern, "-benchtime", b.time, b.pkg)
		cmd.Env = append(os.Environ(), "PARAGENTS_STORED=1000000")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", b.pkg, err, out)
		}
		found := false
		for line := range strings.SplitSeq(string(out), "\n") {
			if strings.HasPrefix(line, "Benchmark") {
				found = true
				fmt.Println(line)
			}
		}
		if !found {
			return fmt.Errorf("%s has no benchmark %q", b.pkg, b.pattern)
		}
		if b.aim != "" {
			fmt.Println("  aim:", b.aim)
		}
	}
	return nil
}

// scenario is one load.
type scenario struct {
	name     string
	n, chats int
	latency  string
	burst    bool
	aim      string
}

// chats runs the load harness against the program on both stores, and against its own minimal bot.
func chats(bin, sources, dir string, quick bool) error {
	harness := filepath.Join(dir, "imload")
	build := exec.Command("go", "build", "-o", harness, ".")
	build.Dir = sources
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the load harness: %w\n%s", err, out)
	}
	redis, stop, err := startRedis(dir)
	if err != nil {
		return err
	}
	defer stop()
	scale := 1
	if quick {
		scale = 10
	}
	fmt.Printf("\n%-30s %-9s %9s %8s %8s %8s %6s %5s %8s\n", "load", "bot", "answers/s", "p50 ms", "p95 ms", "cpu ms", "lost", "twice", "peak MiB")
	for _, sc := range []scenario{
		{"1 chat, model 0 ms", 300, 1, "0", false, "our share at most 5 ms"},
		{"100 chats, model 200 ms", 6000, 100, "200ms", false, "300/s, p95 300 ms, 2 ms CPU"},
		{"500 chats, model 200 ms", 6000, 500, "200ms", false, "400/s"},
		{"a burst of 1000 chats", 1000, 1000, "200ms", true, "all answered"},
	} {
		for _, bot := range []string{"minimal", "file", "redis"} {
			r, err := load(harness, bin, bot, redis, filepath.Join(dir, bot), sc, scale, 1)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", sc.name, bot, err)
			}
			fmt.Printf("%-30s %-9s %9.0f %8.1f %8.1f %8.2f %6.0f %5.0f %8.1f\n", sc.name, bot, r["throughput_per_s"], r["lat_p50_ms"], r["lat_p95_ms"],
				r["cpu_ms"]/max(1, r["answered"]), r["lost"], r["duplicated"], r["peak_rss_bytes"]/(1<<20))
		}
		fmt.Printf("  aim: %s\n", sc.aim)
	}
	return replicas(harness, bin, dir, redis, scale)
}

// replicas measures several processes on one Redis, with what Redis had to do for each answer, heartbeats and polls included.
func replicas(harness, bin, dir, url string, scale int) error {
	fmt.Printf("\n%-30s %-9s %9s %8s %8s %14s %14s\n", "100 chats", "replicas", "answers/s", "p50 ms", "p95 ms", "redis commands", "redis kB")
	for _, latency := range []string{"0", "200ms"} {
		for _, n := range []int{1, 2, 4} {
			before, err := redisStats(url)
			if err != nil {
				return err
			}
			sc := scenario{name: "model " + latency, n: 3000, chats: 100, latency: latency}
			r, err := load(harness, bin, "redis", url, filepath.Join(dir, "replicas"), sc, scale, n)
			if err != nil {
				return fmt.Errorf("%d replicas: %w", n, err)
			}
			after, err := redisStats(url)
			if err != nil {
				return err
			}
			answered := max(1, r["answered"])
			fmt.Printf("%-30s %-9d %9.0f %8.1f %8.1f %14.1f %14.1f\n", sc.name, n, r["throughput_per_s"], r["lat_p50_ms"], r["lat_p95_ms"],
				(after["total_commands_processed"]-before["total_commands_processed"])/answered,
				(after["total_net_input_bytes"]+after["total_net_output_bytes"]-before["total_net_input_bytes"]-before["total_net_output_bytes"])/answered/1000)
		}
	}
	return nil
}

// redisStats are the numbers of INFO stats.
func redisStats(url string) (map[string]float64, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "redis://"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "INFO stats\r\nQUIT\r\n"); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(string(raw)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			out[name] = v
		}
	}
	return out, nil
}

// load runs one scenario and returns the harness's figures. The harness starts one process of the program; with more replicas the others are started here.
func load(harness, bin, bot, redis, dir string, sc scenario, scale, replicas int) (map[string]float64, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "workspace"), 0o700); err != nil {
		return nil, err
	}
	result := filepath.Join(dir, "result.jsonl")
	n := max(sc.chats, sc.n/scale)
	args := []string{"-n", fmt.Sprint(n), "-chats", fmt.Sprint(sc.chats), "-model-latency", sc.latency, "-idle", "1s", "-limit", "3m", "-out", result}
	if sc.burst {
		args = append(args, "-mode", "open", "-rate", "0")
	}
	args = append(args, "--")
	if bot == "minimal" {
		args = append(args, harness, "refbot")
	} else {
		url := "file:" + filepath.Join(dir, "state.db")
		if bot == "redis" {
			url = redis + "/0"
		}
		config := filepath.Join(dir, "paragents.yaml")
		text := fmt.Sprintf(`llm: {base_url: "http://127.0.0.1:18082/v1", model: any, provider: openai}
store: {url: "%s", prefix: "bench%d"}
telegram: {bot_token: "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", api_url: "http://127.0.0.1:18081"}
access: {operators: ["telegram:*"]}
workspaces: [{name: default, path: "%s"}]
limits: {max_in_flight: 1000}
listen: ""
`, url, time.Now().UnixNano(), filepath.Join(dir, "workspace"))
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, err
		}
		args = append(args, bin, "--config", config, "serve")
		for range replicas - 1 {
			other := exec.Command(bin, "--config", config, "serve")
			if err := other.Start(); err != nil {
				return nil, err
			}
			defer func() { other.Process.Kill(); other.Wait() }() //nolint:errcheck // it is gone either way
		}
	}
	cmd := exec.Command(harness, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	raw, err := os.ReadFile(result)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	figures := map[string]float64{}
	for k, v := range all {
		if f, ok := v.(float64); ok {
			figures[k] = f
		}
	}
	return figures, nil
}

// startRedis starts a private redis-server that appends to a file, as one would in production.
func startRedis(dir string) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", dir, "--appendonly", "yes", "--maxmemory-policy", "noeviction", "--save", "")
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start redis-server: %w; make need installs it", err)
	}
	stop = func() { cmd.Process.Kill(); cmd.Wait() } //nolint:errcheck // it is gone either way
	for range 100 {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			c.Close()
			return fmt.Sprintf("redis://127.0.0.1:%d", port), stop, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	return "", nil, errors.New("redis-server does not answer")
}

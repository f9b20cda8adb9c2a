package config_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"fourfold/cmd/internal/config"
	"fourfold/flow"
	"fourfold/provider"
	"fourfold/tasks"
)

var update = flag.Bool("update", false, "write golden files anew")

func env(values map[string]string) config.Env {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

// finish parses and finishes a file with the given text.
func finish(t *testing.T, text string, o config.Overrides, values map[string]string) (*config.File, error) {
	t.Helper()
	f := config.Parse("worker.yaml", []byte(text))
	return f, f.Finish(o, env(values))
}

func mustFinish(t *testing.T, text string, o config.Overrides, values map[string]string) *config.File {
	t.Helper()
	f, err := finish(t, text, o, values)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Each file of testdata/bad has everything wrong that can be seen at once; its twin lists the problems.
func TestEveryProblemIsReportedAtOnceWithItsPlace(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = finish(t, string(data), config.Overrides{}, nil)
			if _, ok := errors.AsType[flow.Problems](err); !ok {
				t.Fatalf("got %v; want problems", err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestTheFileInForceIsPrintedWithoutSecrets(t *testing.T) {
	data, err := os.ReadFile("testdata/whole.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := mustFinish(t, string(data), config.Overrides{}, nil)
	text, err := f.Redacted()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret is printed:\n%s", text)
	}
	golden(t, "testdata/whole.golden", string(text))
	// What is printed can be read again, and says the same.
	again := mustFinish(t, string(text), config.Overrides{}, nil)
	twice, err := again.Redacted()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(text), string(twice)); diff != "" {
		t.Errorf("printed, read and printed again (-first +second):\n%s", diff)
	}
}

func TestAnEmptyFileHasDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "{}"} {
		f := mustFinish(t, text, config.Overrides{}, nil)
		got := []any{f.Redis.URL, f.Queues, f.Concurrency, f.Drain.Std(), *f.HealthAddr, *f.Statsd.Addr, f.Log, len(f.Providers), len(f.Chains)}
		want := []any{
			"redis://127.0.0.1:6379/0",
			map[string]int{"default": 1},
			100, 25 * time.Second, "127.0.0.1:8080", "127.0.0.1:8125",
			config.Log{Level: "info", Format: "json"},
			0, 0,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestFlagsStandAboveTheFile(t *testing.T) {
	f := mustFinish(t, "{concurrency: 5, drain: 9s, health_addr: 'h:1', statsd: {addr: 's:1'}, queues: {a: 1}, log: {level: debug}, redis: {url: 'redis://file:1', tls: {server_name: x}}}",
		config.Overrides{
			Redis: "redis://flag:1", Queues: map[string]int{"b": 2}, Concurrency: new(7), Drain: new(time.Minute), HealthAddr: new(""), Statsd: new(""),
			LogLevel: "warn", LogFormat: "text",
		}, nil)
	got := []any{f.Redis.URL, f.Redis.TLS.ServerName, f.Queues, f.Concurrency, f.Drain.Std(), *f.HealthAddr, *f.Statsd.Addr, f.Log}
	want := []any{"redis://flag:1", "x", map[string]int{"b": 2}, 7, time.Minute, "", "", config.Log{Level: "warn", Format: "text"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAProblemOfAFlagNamesTheFlag(t *testing.T) {
	_, err := finish(t, "concurrency: 3", config.Overrides{Concurrency: new(-1), Redis: "gopher://x", LogLevel: "wran"}, nil)
	want := `--concurrency: concurrency: must be at least 1
--redis: redis.url: must begin with redis://, rediss:// or unix://
--log-level: log.level: must be one of debug, info, warn, error; did you mean "warn"?`
	got := strings.Split(err.Error(), "\n")
	for line := range strings.SplitSeq(want, "\n") {
		if !contains(got, line) {
			t.Errorf("%q is not among\n%s", line, err)
		}
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func TestMetricsGoWhereDatadogsVariablesSay(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "127.0.0.1:8125"},
		{map[string]string{"DD_AGENT_HOST": "10.0.0.7"}, "10.0.0.7:8125"},
		{map[string]string{"DD_AGENT_HOST": "fd00::1", "DD_DOGSTATSD_PORT": "9125"}, "[fd00::1]:9125"},
		{map[string]string{"DD_AGENT_HOST": "10.0.0.7", "DD_DOGSTATSD_URL": "unix:///dsd.socket"}, "unix:///dsd.socket"},
	} {
		if got := *mustFinish(t, "", config.Overrides{}, c.env).Statsd.Addr; got != c.want {
			t.Errorf("%v: %s, want %s", c.env, got, c.want)
		}
	}
}

func TestOneProviderMayComeFromTheEnvironment(t *testing.T) {
	key := map[string]string{"OPENAI_API_KEY": "k"}
	f := mustFinish(t, "", config.Overrides{}, key)
	p := f.Providers["primary"]
	if p.Kind != "openai" || p.Model != config.DefaultModel || p.APIKeyEnv != "OPENAI_API_KEY" || !cmp.Equal(f.Chains["default"].Providers, []string{"primary"}) {
		t.Errorf("%+v %+v", p, f.Chains)
	}
	local := mustFinish(t, "", config.Overrides{BaseURL: "http://127.0.0.1:8000/v1", Model: "mine"}, nil).Providers["primary"]
	if local.BaseURL != "http://127.0.0.1:8000/v1" || local.Model != "mine" || local.APIKeyEnv != "" {
		t.Errorf("%+v", local)
	}
	// What the file says counts alone.
	named := mustFinish(t, "providers: {mine: {kind: simulated}}", config.Overrides{}, key)
	if len(named.Providers) != 1 || named.Providers["mine"].Kind != "simulated" || !cmp.Equal(named.Chains["default"].Providers, []string{"mine"}) {
		t.Errorf("%+v %+v", named.Providers, named.Chains)
	}
}

func TestAUsualKeyIsSentToItsMakerAlone(t *testing.T) {
	f := mustFinish(t, `
providers:
  maker: {kind: openai, model: m}
  other: {kind: openai, model: m, base_url: "http://elsewhere/v1"}
  flavoured: {kind: openai, flavour: groq, model: m}
  claude: {kind: anthropic, model: m}
chains: {default: [maker, other, flavoured, claude]}
`, config.Overrides{}, nil)
	got := map[string]string{}
	for name, p := range f.Providers {
		got[name] = p.APIKeyEnv
	}
	want := map[string]string{"maker": "OPENAI_API_KEY", "other": "", "flavoured": "", "claude": "ANTHROPIC_API_KEY"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAliasesAndMergeKeysAreFollowed(t *testing.T) {
	f := mustFinish(t, `
providers:
  one: &base {kind: openai, base_url: "http://h/v1", model: m, timeout: 8s, headers: {X-Version: 2}}
  two: {<<: *base, model: n}
chains: {default: [one, two]}
`, config.Overrides{}, nil)
	two := f.Providers["two"]
	if two.Kind != "openai" || two.Model != "n" || two.Timeout.Std() != 8*time.Second || two.Headers["X-Version"] != "2" {
		t.Errorf("%+v", two)
	}
}

func TestAnAliasWithinItsOwnAnchorEnds(t *testing.T) {
	if _, err := finish(t, "providers: &p {a: *p}", config.Overrides{}, nil); err == nil {
		t.Error("no problem")
	}
}

func TestEveryProviderThatLacksItsKeyIsNamed(t *testing.T) {
	f := mustFinish(t, `
providers:
  one: {kind: openai, model: m}
  two: {kind: anthropic, model: m, api_key_file: testdata/nowhere}
  three: {kind: gemini, model: m, api_key_env: EMPTY}
chains: {default: [one, two, three]}
`, config.Overrides{}, nil)
	_, err := f.BuildProviders(config.Surroundings{Env: env(map[string]string{"EMPTY": ""})})
	for _, want := range []string{"providers.one: the environment has no OPENAI_API_KEY", "providers.two: ", "providers.three: the environment has no EMPTY"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestChainsAndLimitsAreBuiltAsTheFileSays(t *testing.T) {
	f := mustFinish(t, `
providers:
  fast: {kind: simulated, capabilities: [json_schema], limits: {in_flight: 5, per_minute: 60}}
  plain: {kind: simulated}
chains:
  default: [fast, plain]
  strict: {providers: [plain], fallback_on: [auth]}
`, config.Overrides{}, nil)
	offer, err := f.Offer()
	if err != nil {
		t.Fatal(err)
	}
	able := offer.Chains["default"].Able(provider.CapabilitiesOf(provider.JSONSchema))
	if len(able) != 1 || able[0].String() != "fast" || len(offer.Chains) != 2 || !offer.Handlers["assemble"] {
		t.Errorf("able %v, offer %+v", able, offer)
	}
	want := map[provider.Name]tasks.Limit{provider.MustName("fast"): {InFlight: 5, PerMinute: 60}}
	if diff := cmp.Diff(want, f.FleetLimits(), cmp.Comparer(func(a, b provider.Name) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRedisIsReachedAsTheFileSays(t *testing.T) {
	password := env(map[string]string{"PW": "s3cret", "SPW": "s3ntinel"})
	for _, c := range []struct {
		name  string
		redis config.Redis
		want  []any // type, addresses, user, password, database, TLS
		place string
	}{
		{"url", config.Redis{URL: "redis://u:p@h:1/2"}, []any{"node", []string{"h:1"}, "u", "p", 2, false}, "redis://h:1/2"},
		{"tls url", config.Redis{URL: "rediss://h:1"}, []any{"node", []string{"h:1"}, "", "", 0, true}, "rediss://h:1"},
		{"socket", config.Redis{URL: "unix:///tmp/r.sock?db=3"}, []any{"unix", []string{"/tmp/r.sock"}, "", "", 3, false}, "/tmp/r.sock"},
		{"password apart", config.Redis{URL: "redis://h:1", Username: "u", PasswordEnv: "PW"}, []any{"node", []string{"h:1"}, "u", "s3cret", 0, false}, "redis://h:1"},
		{"tls block", config.Redis{URL: "redis://h:1", TLS: &config.TLS{ServerName: "n"}}, []any{"node", []string{"h:1"}, "", "", 0, true}, "redis://h:1"},
		{"cluster url", config.Redis{URL: "redis://u:p@h:1?addr=h:2"}, []any{"cluster", []string{"h:1", "h:2"}, "u", "p", 0, false}, "redis://h:1"},
		{"cluster", config.Redis{Cluster: &config.Cluster{Addrs: []string{"a:1"}}, PasswordEnv: "PW"}, []any{"cluster", []string{"a:1"}, "", "s3cret", 0, false}, "cluster a:1"},
		{
			"sentinel",
			config.Redis{Sentinel: &config.Sentinel{Master: "m", Addrs: []string{"a:1"}, PasswordEnv: "SPW"}, DB: 4},
			[]any{"node", []string{"FailoverClient"}, "", "", 4, false},
			"master m of sentinels a:1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			rdb, err := c.redis.Client(config.ForWorker, 100, password)
			if err != nil {
				t.Fatal(err)
			}
			defer rdb.Close()
			var got []any
			switch r := rdb.(type) {
			case *redis.Client:
				o := r.Options()
				kind := "node"
				if o.Network == "unix" {
					kind = "unix"
				}
				got = []any{kind, []string{o.Addr}, o.Username, o.Password, o.DB, o.TLSConfig != nil}
			case *redis.ClusterClient:
				o := r.Options()
				got = []any{"cluster", o.Addrs, o.Username, o.Password, 0, o.TLSConfig != nil}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if place := c.redis.Place(); place != c.place {
				t.Errorf("place %q, want %q", place, c.place)
			}
		})
	}
}

func TestASuggestionIsMadeWhenAWordIsNear(t *testing.T) {
	for word, want := range map[string]string{"concurency": "concurrency", "provider": "providers", "xyz": "", "q": ""} {
		_, err := finish(t, word+": 1", config.Overrides{}, nil)
		_, got, _ := strings.Cut(err.Error(), "unknown key")
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

func TestAFileThatIsNoTextIsReportedAtItsFirstBadByte(t *testing.T) {
	_, err := finish(t, "queues: {default: 1}\nlog: {level: gr\xfc\xdf}", config.Overrides{}, nil)
	if diff := cmp.Diff("worker.yaml:2:16: the file is not UTF-8 text", err.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package flow

import (
	"errors"
	"strings"
	"testing"
)

func TestExpressionsSeeInputsAsTheyAre(t *testing.T) {
	in := inputsOf(`{"tables":[{"id":"a","rows":3},{"id":"b","rows":7}],"n":2,"title":"Ü & <b>","none":null,
		"big":12345678901234567890,"long":3.14159265358979323846,"half":1.50,"huge":1e400,"b":2,"a":1}`, `{"text":"hello"}`)
	for expression, want := range map[string]string{
		`input.n + 1`: `3`,
		`map(input.tables, {"id": .id, "kind": "content"})`: `[{"id":"a","kind":"content"},{"id":"b","kind":"content"}]`,
		`map(input.tables, {id: .id})`:                      `[{"id":"a"},{"id":"b"}]`,
		`map(input.tables, {})`:                             `[{},{}]`,
		`map(input.tables, {{"id": .id}})`:                  `[{"id":"a"},{"id":"b"}]`,
		`map(input.tables, {.rows})`:                        `[3,7]`,
		`map(input.tables, {.rows > 3 ? "many" : "few"})`:   `["few","many"]`,
		`map(filter(input.tables, .rows > 5), .id)`:         `["b"]`,
		`{"nested": {"a": [1, {"b": nil}]}}`:                `{"nested":{"a":[1,{"b":null}]}}`,
		`steps["extract-text"].value.text`:                  `"hello"`,
		`steps.extract_text.value.text`:                     `"hello"`,
		`steps.extract_text.outcome`:                        `"DEGRADED"`,
		`steps.tables.outcome`:                              `"FAILED"`,
		`steps.tables.value ?? []`:                          `[]`,
		`steps.tables.value?.rows`:                          `null`,
		`keys(steps)`:                                       `["extract-text","tables"]`,
		`map(keys(steps), steps[#].outcome)`:                `["DEGRADED","FAILED"]`,
		`input.title`:                                       `"Ü & <b>"`,
		`input.none`:                                        `null`,
		`input.missing`:                                     `null`,
		`input.language ?? "en"`:                            `"en"`,
		`input.meta?.language`:                              `null`,
		`input.tables[:10] == take(input.tables, 10)`:       `true`,
		`len(input.title[:200])`:                            `7`,
		// Numbers pass through exactly, whatever their size, and still compare.
		`input.big`:                       `12345678901234567890`,
		`[input.long, input.half]`:        `[3.14159265358979323846,1.5]`,
		`input.huge`:                      `1e400`,
		`input.long > 3`:                  `true`,
		`input.big > 1 && 5 < input.huge`: `true`,
		`floor(input.long)`:               `3`,
		`-input.long < 0`:                 `true`,
		`sum(input.tables, .rows)`:        `10`,
		// The same every time: fields come in the order of their names.
		`keys(input)[:2]`:                             `["a","b"]`,
		`values({"b": 1, "a": 2})`:                    `[2,1]`,
		`toPairs({"b": 1, "a": 2})`:                   `[["a",2],["b",1]]`,
		`groupBy(input.tables, .id)`:                  `{"a":[{"id":"a","rows":3}],"b":[{"id":"b","rows":7}]}`,
		`toJSON({"b": 1, "a": [2]})`:                  `"{\"a\":[2],\"b\":1}"`,
		`fromJSON("{\"a\": 12345678901234567890}").a`: `12345678901234567890`,
		`string(input.half) + string({"a": 1})`:       `"1.5{\"a\":1}"`,
		`join(["a", 1, nil], "-")`:                    `"a-1-null"`,
		`replace("a-b-c", "-", "+")`:                  `"a+b+c"`,
		`repeat("ab", 3)`:                             `"ababab"`,
		`1..4`:                                        `[1,2,3,4]`,
		`split("a,b", ",")`:                           `["a","b"]`,
		`let x = input.n; x * x`:                      `4`,
		`let item = 5; item`:                          `5`,
		`reduce(input.tables, #acc + .rows, 0)`:       `10`,
		`any(input.tables, .id == "b")`:               `true`,
	} {
		t.Run(expression, func(t *testing.T) {
			got, err := exprOf(t, expression, in)
			if err != nil || got != want {
				t.Errorf("got %s, %v; want %s", got, err, want)
			}
		})
	}
}

// What goes wrong at run time is told in fixed words with the place in the flow file, and never quotes a value.
func TestExpressionErrorsAreContentFree(t *testing.T) {
	const canary = "canary-4711"
	in := inputsOf(`{"s":"`+canary+`","list":["`+canary+`"],"n":1,"object":{"`+canary+`":1}}`, `"`+canary+`"`)
	for expression, want := range map[string]string{
		`input.s.field`:                       "flow: step s: degrade_to (flow.yaml:13:26) cannot be evaluated on these inputs",
		`input.n + input.s`:                   "flow: step s: degrade_to (flow.yaml:13:26) cannot be evaluated on these inputs",
		`input.list[5]`:                       "flow: step s: degrade_to (flow.yaml:13:28) cannot be evaluated on these inputs",
		`input.missing.field`:                 "flow: step s: degrade_to (flow.yaml:13:32) cannot be evaluated on these inputs",
		`int(input.s)`:                        "flow: step s: degrade_to (flow.yaml:13:18) cannot be evaluated on these inputs",
		`input.s matches input.list[0] + "("`: "flow: step s: degrade_to (flow.yaml:13:26) cannot be evaluated on these inputs",
		`map(input.object, #)`:                "flow: step s: degrade_to (flow.yaml:13:36) cannot be evaluated on these inputs",
		`fromJSON(input.s)`:                   "flow: step s: degrade_to (flow.yaml:13:18) is not one JSON value",
		`keys(input.s)`:                       "flow: step s: degrade_to (flow.yaml:13:18) cannot be evaluated on these inputs",
		`groupBy(input.list, 1.5)`:            "flow: step s: degrade_to (flow.yaml:13:17) makes something that is no JSON value",
		`input.n / 0`:                         "flow: step s: degrade_to (flow.yaml:13:17) makes something that is no JSON value",
		`trim(input.n)`:                       "flow: step s: degrade_to (flow.yaml:13:18) cannot be evaluated on these inputs",
	} {
		t.Run(expression, func(t *testing.T) {
			got, err := exprOf(t, expression, in)
			if err == nil {
				t.Fatalf("got %s, want an error", got)
			}
			if e := evalError(t, err); e.Error() != want {
				t.Errorf("got  %s\nwant %s", e, want)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), canary) {
					t.Errorf("the error quotes content: %v", e)
				}
			}
		})
	}
}

// An expression that would run or grow without end is stopped by a count, not by a clock.
func TestExpressionsAreBounded(t *testing.T) {
	list := "[" + strings.Repeat("1,", 3999) + "1]"
	in := inputsOf(`{"n":100,"list":`+list+`,"s":"`+strings.Repeat("x", 1<<20)+`"}`, `1`)
	for expression, want := range map[string]error{
		`all(input.list, all(input.list, # > 0))`:  errTooMuch,
		`reduce(input.list, #acc + #acc, input.s)`: errTooLarge,
		`replace(input.s, "x", input.s)`:           errTooLarge,
		`repeat(input.s, 1000000)`:                 errTooLarge,
		`join(input.list, input.s)`:                errTooLarge,
		`map(input.list, input.s)`:                 errTooLarge,
		`toJSON(map(input.list, input.s))`:         errTooLarge,
		`reduce(1..input.n, [#acc, #acc], 1)`:      errTooLarge,
		`reduce(input.list, [#acc], 1)`:            errTooDeep,
		`let a = input.s + input.s; let b = a + a; let c = b + b; let d = c + c; len(d + d)`: errTooLarge,
		`1..(input.n * 1000000)`: errUnreadable,
	} {
		t.Run(expression, func(t *testing.T) {
			got, err := exprOf(t, expression, in)
			if !errors.Is(err, want) {
				t.Errorf("got %.50s, %v; want %v", got, err, want)
			}
		})
	}
}

func TestExpressionsHaveNoClock(t *testing.T) {
	for _, call := range []string{`now()`, `date("2024-01-01")`, `duration("1h")`, `timezone("UTC")`} {
		_, err := tryBundle("  - id: s\n    handler: h\n    degrade_to: 'string("+strings.ReplaceAll(call, "'", "''")+")'\n", nil)
		if err == nil {
			t.Errorf("%s was taken", call)
		}
	}
}

package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var chart = Chart{
	Title: "cost <of> a step", X: "open runs", Y: "µs a step", LogX: true,
	Series: []Series{
		{"one", []Point{{1, 100}, {1000, 110}}},
		{"two", []Point{{10, 50.123456}, {1000, 60}}},
	},
}

func TestCSVHasARowForEachXAndAColumnForEachSeries(t *testing.T) {
	var b strings.Builder
	if err := chart.CSV(&b); err != nil {
		t.Fatal(err)
	}
	want := `"open runs","one (µs a step)","two (µs a step)"
1,100,
10,,50.12
1000,110,60
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func TestSVGIsWellFormedAndHasEveryPointInsideItsAxes(t *testing.T) {
	var b strings.Builder
	if err := chart.SVG(&b); err != nil {
		t.Fatal(err)
	}
	circles := 0
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	if circles != 4 {
		t.Errorf("%d points are drawn, want 4", circles)
	}
	x, y := chart.axisX(), chart.axisY()
	for _, s := range chart.Series {
		for _, p := range s.Points {
			if at := x.place(p.X); at < left || at > width-right {
				t.Errorf("x %v is drawn at %v", p.X, at)
			}
			if at := y.place(p.Y); at < top || at > height-bottom {
				t.Errorf("y %v is drawn at %v", p.Y, at)
			}
		}
	}
}

func TestTicksAreRoundAndReachTheHighest(t *testing.T) {
	for _, c := range []struct {
		high float64
		want string
	}{
		{0, "0 1"},
		{1, "0 0.2 0.4 0.6 0.8 1"},
		{110, "0 20 40 60 80 100 120"},
		{450, "0 100 200 300 400 500"},
		{8, "0 1 2 3 4 5 6 7 8"},
		{23_456, "0 5000 10k 15k 20k 25k"},
	} {
		var got []string
		for _, v := range steps(c.high) {
			got = append(got, short(v))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("up to %v: %s", c.high, diff)
		}
	}
}

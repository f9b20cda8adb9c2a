// Package plot draws curves as plain SVG and writes them as CSV: a chart is a title, two axes and some series.
package plot

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is curves over one axis. Each series must have a point.
type Chart struct {
	Title, X, Y string
	LogX        bool // the x axis is logarithmic: every X must be above zero
	Series      []Series
}

// Series is one curve.
type Series struct {
	Name   string
	Points []Point // by rising X
}

// Point is one measurement.
type Point struct{ X, Y float64 }

// The drawing, in pixels.
const (
	width, height            = 640, 360
	left, right, top, bottom = 70, 20, 40, 60
)

// colours stand apart on white and on black, and for the colour-blind (Okabe and Ito).
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

// SVG writes the chart as a drawing. Y begins at zero, so that heights can be compared.
func (c Chart) SVG(w io.Writer) error {
	x, y := c.axisX(), c.axisY()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	text(&b, width/2, 20, "middle", 14, c.Title)
	text(&b, width/2, height-8, "middle", 12, c.X)
	fmt.Fprintf(&b, `<text x="14" y="%d" text-anchor="middle" transform="rotate(-90 14 %d)">%s</text>`+"\n", height/2, height/2, escape(c.Y))
	for _, t := range y.ticks {
		at := y.place(t)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/>`+"\n", left, at, width-right)
		text(&b, left-6, at+4, "end", 11, short(t))
	}
	for _, t := range x.ticks {
		at := x.place(t)
		fmt.Fprintf(&b, `<path d="M%.1f %dv5" stroke="#000"/>`+"\n", at, height-bottom)
		text(&b, at, height-bottom+18, "middle", 11, short(t))
	}
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" fill="none" stroke="#000"/>`+"\n", left, top, height-bottom, width-right)
	for i, s := range c.Series {
		c.curve(&b, s, x, y, i)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Chart) curve(b *strings.Builder, s Series, x, y axis, i int) {
	colour := colours[i%len(colours)]
	var path []string
	for _, p := range s.Points {
		path = append(path, fmt.Sprintf("%.1f %.1f", x.place(p.X), y.place(p.Y)))
	}
	fmt.Fprintf(b, `<path d="M%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, "L"), colour)
	for _, p := range s.Points {
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.place(p.X), y.place(p.Y), colour)
	}
	if len(c.Series) > 1 {
		at := top + 14*float64(i)
		fmt.Fprintf(b, `<path d="M%d %.1fh14" stroke="%s" stroke-width="2"/>`+"\n", width-right-170, at, colour)
		text(b, width-right-150, at+4, "start", 11, s.Name)
	}
}

// CSV writes the chart's numbers: x and then one column a series; a series without a point at x has an empty field.
func (c Chart) CSV(w io.Writer) error {
	head := []string{c.X}
	var xs []float64
	for _, s := range c.Series {
		head = append(head, s.Name+" ("+c.Y+")")
		for _, p := range s.Points {
			xs = append(xs, p.X)
		}
	}
	slices.Sort(xs)
	lines := []string{strings.Join(quoted(head), ",")}
	for _, x := range slices.Compact(xs) {
		line := []string{number(x)}
		for _, s := range c.Series {
			field := ""
			if i := slices.IndexFunc(s.Points, func(p Point) bool { return p.X == x }); i >= 0 {
				field = number(s.Points[i].Y)
			}
			line = append(line, field)
		}
		lines = append(lines, strings.Join(line, ","))
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

func quoted(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
	}
	return out
}

// number keeps four digits: a measurement has no more.
func number(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// axis maps values to pixels.
type axis struct {
	low, high float64 // of the values; their logarithms where log is set
	from, to  float64 // pixels
	log       bool
	ticks     []float64
}

func (a axis) place(v float64) float64 {
	if a.log {
		v = math.Log10(v)
	}
	if a.high == a.low {
		return a.from
	}
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

func (c Chart) axisX() axis {
	a := axis{from: left, to: width - right, log: c.LogX, low: math.Inf(1), high: math.Inf(-1)}
	for _, s := range c.Series {
		for _, p := range s.Points {
			v := p.X
			if a.log {
				v = math.Log10(v)
			}
			a.low, a.high = min(a.low, v), max(a.high, v)
		}
	}
	if !a.log {
		a.low = 0
		a.ticks = steps(a.high)
		return a
	}
	a.low, a.high = math.Floor(a.low), math.Ceil(a.high)
	for e := a.low; e <= a.high; e++ {
		a.ticks = append(a.ticks, math.Pow(10, e))
	}
	return a
}

func (c Chart) axisY() axis {
	a := axis{from: height - bottom, to: top}
	for _, s := range c.Series {
		for _, p := range s.Points {
			a.high = max(a.high, p.Y)
		}
	}
	a.ticks = steps(a.high)
	a.high = a.ticks[len(a.ticks)-1]
	return a
}

// steps are round numbers from zero until past high.
func steps(high float64) []float64 {
	if high <= 0 {
		return []float64{0, 1}
	}
	step := math.Pow(10, math.Floor(math.Log10(high)))
	for _, finer := range []float64{5, 2} { // at least four steps
		if high/step < 4 {
			step = math.Pow(10, math.Floor(math.Log10(high))) / (10 / finer)
		}
	}
	var out []float64
	for v := 0.0; ; v += step {
		out = append(out, v)
		if v >= high {
			return out
		}
	}
}

// short writes an axis' number: 20k, 1.5M.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case v >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func text(b *strings.Builder, x, y float64, anchor string, size int, s string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, size, escape(s))
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

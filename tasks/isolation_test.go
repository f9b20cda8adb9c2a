package tasks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSuspectsHaveEverLessCompany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots, most int
		unasked     int
		widths      []int // from the first delivery that is asked for
	}{
		{slots: 100, most: 5, unasked: 2, widths: []int{21, 4, 1}},
		{slots: 10_000, most: 5, unasked: 2, widths: []int{464, 21, 1}},
		{slots: 100, most: 3, unasked: 2, widths: []int{1}},
		{slots: 100, most: 2, unasked: 1, widths: []int{1}},
		{slots: 100, most: 1, unasked: 1, widths: []int{}},
		{slots: 1, most: 5, unasked: 2, widths: []int{1, 1, 1}},
	} {
		i := newIsolation(c.slots, c.most)
		if got := i.unasked(); got != c.unasked {
			t.Errorf("%d slots, %d deliveries: %d are not asked for; want %d", c.slots, c.most, got, c.unasked)
		}
		widths := []int{}
		for d := i.unasked() + 1; d <= c.most; d++ {
			widths = append(widths, i.width(d))
		}
		if diff := cmp.Diff(c.widths, widths); diff != "" {
			t.Errorf("%d slots, %d deliveries (-want +got):\n%s", c.slots, c.most, diff)
		}
	}
}

func TestASuspectIsAloneTheLastTime(t *testing.T) {
	t.Parallel()
	i := newIsolation(100, 5)
	leave, ok := i.enter(5)
	if !ok {
		t.Fatal("no room in an empty worker")
	}
	for d := 3; d <= 5; d++ {
		if _, ok := i.enter(d); ok {
			t.Errorf("one at its delivery %d was let in beside one at its last", d)
		}
	}
	leave()
	for n := range 4 {
		if _, ok := i.enter(4); !ok {
			t.Errorf("no room beside %d others at their fourth", n)
		}
	}
	if _, ok := i.enter(5); ok {
		t.Error("one at its last was let in beside others")
	}
	if _, ok := i.enter(3); ok {
		t.Error("one at its third made it more than those at their fourth allow")
	}
}

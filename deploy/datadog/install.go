package datadog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"fourfold/telemetry"
)

// Installer puts the definitions into a Datadog account. Running it again updates what it made before.
type Installer struct {
	API *API
	// Env is the environment that monitors and objectives watch; required.
	Env string
	// Runbooks is the address of docs/operations.md as people reach it; empty: the path in the repository.
	Runbooks string
	// Notify is appended to each monitor's message, such as @slack-oncall; empty: nobody is notified.
	Notify string
	// Out is told what was done, a line each.
	Out io.Writer
}

// Install installs everything. It stops at the first error; what was done until then stays, and the next run goes on.
func (i *Installer) Install(ctx context.Context) error {
	all, err := Definitions(i.Env)
	if err != nil {
		return err
	}
	slos := map[string]string{} // Datadog's ids
	for _, d := range all {
		var id string
		switch d.Kind {
		case SLO:
			id, err = i.slo(ctx, d)
			slos[d.ID] = id
		case Monitor:
			id, err = i.monitor(ctx, d, slos)
		case Dashboard:
			id, err = i.dashboard(ctx, d)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.Path, err)
		}
		fmt.Fprintf(i.Out, "%s %s: %s\n", d.Kind, d.ID, id)
	}
	return i.percentiles(ctx)
}

func (i *Installer) slo(ctx context.Context, d Definition) (string, error) {
	type found struct {
		Data []struct {
			ID   string   `json:"id"`
			Tags []string `json:"tags"`
		} `json:"data"`
	}
	var there found
	if err := i.API.call(ctx, http.MethodGet, "/api/v1/slo?limit=1000&tags_query="+url.QueryEscape(d.Tag()), nil, &there); err != nil {
		return "", err
	}
	var ids []string
	for _, s := range there.Data {
		if i.ours(d, s.Tags) {
			ids = append(ids, s.ID)
		}
	}
	id, err := only(ids)
	if err != nil {
		return "", err
	}
	if id != "" {
		return id, i.API.call(ctx, http.MethodPut, "/api/v1/slo/"+url.PathEscape(id), d.JSON, nil)
	}
	var made found
	if err := i.API.call(ctx, http.MethodPost, "/api/v1/slo", d.JSON, &made); err != nil {
		return "", err
	}
	if len(made.Data) != 1 || made.Data[0].ID == "" {
		return "", errors.New("the API made an objective and did not say which")
	}
	return made.Data[0].ID, nil
}

func (i *Installer) monitor(ctx context.Context, d Definition, slos map[string]string) (string, error) {
	body, err := i.fillIn(d.JSON, slos)
	if err != nil {
		return "", err
	}
	type found struct {
		ID   json.Number `json:"id"`
		Tags []string    `json:"tags"`
	}
	var there []found
	if err := i.API.call(ctx, http.MethodGet, "/api/v1/monitor?monitor_tags="+url.QueryEscape(d.Tag()), nil, &there); err != nil {
		return "", err
	}
	var ids []string
	for _, m := range there {
		if i.ours(d, m.Tags) {
			ids = append(ids, m.ID.String())
		}
	}
	id, err := only(ids)
	if err != nil {
		return "", err
	}
	if id != "" {
		return id, i.API.call(ctx, http.MethodPut, "/api/v1/monitor/"+url.PathEscape(id), body, nil)
	}
	var made found
	if err := i.API.call(ctx, http.MethodPost, "/api/v1/monitor", body, &made); err != nil {
		return "", err
	}
	return made.ID.String(), nil
}

func (i *Installer) dashboard(ctx context.Context, d Definition) (string, error) {
	var ours struct{ Title string }
	if err := json.Unmarshal(d.JSON, &ours); err != nil {
		return "", err
	}
	type found struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	var there struct {
		Dashboards []found `json:"dashboards"`
	}
	if err := i.API.call(ctx, http.MethodGet, "/api/v1/dashboard", nil, &there); err != nil {
		return "", err
	}
	var ids []string
	for _, f := range there.Dashboards {
		if f.Title == ours.Title {
			ids = append(ids, f.ID)
		}
	}
	id, err := only(ids)
	if err != nil {
		return "", err
	}
	if id != "" {
		return id, i.API.call(ctx, http.MethodPut, "/api/v1/dashboard/"+url.PathEscape(id), d.JSON, nil)
	}
	var made found
	if err := i.API.call(ctx, http.MethodPost, "/api/v1/dashboard", d.JSON, &made); err != nil {
		return "", err
	}
	return made.ID, nil
}

// ours reports whether what has the tags is d, installed for the same environment.
func (i *Installer) ours(d Definition, tags []string) bool {
	return slices.Contains(tags, d.Tag()) && slices.Contains(tags, "env:"+i.Env)
}

// only returns the one id, or nothing if there is none.
func only(ids []string) (string, error) {
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("there are %d of it (%s): remove all but one", len(ids), strings.Join(ids, ", "))
}

var sloPlace = regexp.MustCompile(`\{\{slo:([a-z-]+)\}\}`)

// runbooks is how messages name the runbooks.
const runbooks = "docs/operations.md"

// fillIn puts Datadog's ids of objectives, the runbooks' address and who is notified into a monitor.
func (i *Installer) fillIn(monitor []byte, slos map[string]string) ([]byte, error) {
	var m map[string]any
	numbers := json.NewDecoder(bytes.NewReader(monitor))
	numbers.UseNumber()
	if err := numbers.Decode(&m); err != nil {
		return nil, err
	}
	query, _ := m["query"].(string)
	var missing error
	m["query"] = sloPlace.ReplaceAllStringFunc(query, func(place string) string {
		id := slos[sloPlace.FindStringSubmatch(place)[1]]
		if id == "" {
			missing = fmt.Errorf("there is no objective for %s", place)
		}
		return id
	})
	if missing != nil {
		return nil, missing
	}
	message, _ := m["message"].(string)
	if i.Runbooks != "" {
		message = strings.ReplaceAll(message, runbooks, i.Runbooks)
	}
	if i.Notify != "" {
		message += "\n\n" + i.Notify
	}
	m["message"] = message
	return json.Marshal(m)
}

// percentiles lets Datadog compute percentiles of our distributions, which it does only for metrics that it was told of, and
// says which tags can be queried. It can be told only once a metric was sent.
func (i *Installer) percentiles(ctx context.Context) error {
	for _, m := range telemetry.Catalogue() {
		if m.Type != telemetry.Distribution {
			continue
		}
		name := telemetry.Namespace + m.Name
		path := "/api/v2/metrics/" + url.PathEscape(name) + "/tags"
		tags := slices.Concat([]string{"env", "service", "version"}, m.Tags)
		attributes := map[string]any{"tags": tags, "metric_type": "distribution", "include_percentiles": true}
		err := i.API.call(ctx, http.MethodPost, path, tagConfiguration(name, attributes), nil)
		var status *StatusError
		if errors.As(err, &status) && status.Status == http.StatusConflict {
			delete(attributes, "metric_type") // cannot be changed
			err = i.API.call(ctx, http.MethodPatch, path, tagConfiguration(name, attributes), nil)
		}
		switch {
		case err == nil:
			fmt.Fprintf(i.Out, "percentiles %s: on\n", m.Name)
		case errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusBadRequest):
			fmt.Fprintf(i.Out, "percentiles %s: not yet (HTTP %d); run this again once workers have sent it\n", m.Name, status.Status)
		default:
			return err
		}
	}
	return nil
}

func tagConfiguration(name string, attributes map[string]any) []byte {
	body, err := json.Marshal(map[string]any{"data": map[string]any{"type": "manage_tags", "id": name, "attributes": attributes}})
	if err != nil {
		panic(err) // maps of strings, booleans and slices of strings always encode
	}
	return body
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// recordedMinutes is how much of the past the panels of a preview show.
const recordedMinutes = 2

// panelData is what Prometheus returned for a dashboard: the series of each expression, for hack/monitoring/preview.
type panelData map[string][]struct {
	Metric map[string]string `json:"metric"`
	Values [][2]any          `json:"values"`
}

// recordPanels writes what the panels of all dashboards show to the file that PANELS names, if it does: hack/monitoring/preview.sh draws
// the dashboards with it.
func recordPanels(t *testing.T, m *measured, p *prometheus) {
	t.Helper()
	path := os.Getenv("PANELS")
	if path == "" {
		return
	}
	m.work(t, recordedMinutes*time.Minute)
	data := panelData{}
	for _, expressions := range panelQueries(t) {
		for _, expr := range expressions {
			data[expr] = nil
		}
	}
	eventually(t, func(ctx context.Context) error {
		end := time.Now()
		for expr := range data {
			var response struct {
				Result json.RawMessage `json:"result"`
			}
			err := p.get(ctx, "/api/v1/query_range", url.Values{
				"query": {grafana.Replace(expr)}, "step": {"2"},
				"start": {strconv.FormatInt(end.Add(-recordedMinutes*time.Minute).Unix(), 10)}, "end": {strconv.FormatInt(end.Unix(), 10)},
			}, &response)
			if err != nil {
				return err
			}
			series := data[expr]
			if err := json.Unmarshal(response.Result, &series); err != nil {
				return err
			}
			data[expr] = series
		}
		return nil
	})
	content, err := json.Marshal(data)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// work makes Projects and Services for a time, more and more of them, and deletes some of them again: what a preview shows.
func (m *measured) work(t *testing.T, duration time.Duration) {
	t.Helper()
	ticker, end := time.NewTicker(time.Second), time.After(duration)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-end:
			return
		case <-t.Context().Done():
			return
		case <-ticker.C:
		}
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace, Name: fmt.Sprintf("web-%d", n%40)},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		objects := []client.Object{service}
		if n%6 == 0 {
			objects = append(objects, &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%d", n/6)}})
		}
		for _, object := range objects {
			err := m.c.Create(t.Context(), object)
			if apierrors.IsAlreadyExists(err) { // the second time
				err = m.c.Delete(t.Context(), object)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

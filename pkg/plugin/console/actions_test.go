// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// post confirms a question as the page does.
func (b *browser) post(token string, body any) (int, string) {
	b.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.base+actionPath, bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Origin", b.base)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(formHeader, token)
	response, err := b.client.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// What is done is what was confirmed: once the question would be another one, nothing is changed.
func TestActions(t *testing.T) {
	w, reading := newWorld(t, klusterIn(kubernikusv1.KlusterRunning, "web"), klusterIn(kubernikusv1.KlusterPending, "db"))
	done := []string{}
	var fails error
	o := optionsOf(reading)
	o.Actions = []Action{{
		Name: "stop", Title: "Stop", Kind: "kluster",
		Applies: func(k client.Object) bool {
			return k.(*kubernikusv1.Kluster).Status.Phase == kubernikusv1.KlusterRunning
		},
		Prompt: func(_ context.Context, k client.Object) (Question, error) {
			if k.GetAnnotations()["protected"] != "" {
				return Question{}, errors.New("it is protected")
			}
			return Question{Preview: "labels: " + k.GetLabels()["a"], Question: "Stop " + k.GetName() + "?"}, nil
		},
		Do: func(_ context.Context, k client.Object) error {
			done = append(done, k.GetName())
			return fails
		},
	}}
	b := open(t, o)
	var web, db Object
	b.read("/api/object?kind=kluster&namespace=garden-shop&name=web", &web)
	b.read("/api/object?kind=kluster&namespace=garden-shop&name=db", &db)
	if len(web.Actions) != 1 || web.Actions[0] != (Offer{"stop", "Stop"}) || len(db.Actions) != 0 {
		t.Errorf("actions = %+v and %+v, want stop for the one that runs", web.Actions, db.Actions)
	}
	const address = actionPath + "?action=stop&namespace=garden-shop&name="
	if code, body := b.get(address + "db"); code != http.StatusConflict || !strings.Contains(body, "nothing to stop") {
		t.Errorf("question about db = %d %s, want 409", code, body)
	}
	var question struct {
		Question
		Token string
	}
	b.read(address+"web", &question)
	if question.Question.Question != "Stop web?" || question.Token == "" {
		t.Fatalf("question = %+v", question)
	}
	change := func(how func(*kubernikusv1.Kluster)) {
		k := klusterIn("", "web")
		w.Change(k, func() { how(k) })
	}
	given := confirmed{Action: "stop", Namespace: "garden-shop", Name: "web", Question: question.Question}
	if code, _ := b.post("", given); code != http.StatusForbidden {
		t.Errorf("without the token = %d, want 403", code)
	}
	change(func(k *kubernikusv1.Kluster) { k.Labels = map[string]string{"a": "b"} })
	if code, body := b.post(question.Token, given); code != http.StatusConflict || !strings.Contains(body, "read the question again") || len(done) != 0 {
		t.Errorf("after a change = %d %s, done %q, want 409 and nothing done", code, body, done)
	}
	b.read(address+"web", &question)
	given.Question = question.Question
	fails = errors.New("conflict")
	if code, body := b.post(question.Token, given); code != http.StatusBadGateway || !strings.Contains(body, "conflict") {
		t.Errorf("a change that fails = %d %s, want the error", code, body)
	}
	done, fails = nil, nil
	if code, body := b.post(question.Token, given); code != http.StatusOK || len(done) != 1 {
		t.Errorf("confirmed = %d %s, done %q, want web", code, body, done)
	}
	change(func(k *kubernikusv1.Kluster) { k.Annotations = map[string]string{"protected": "true"} })
	if code, body := b.get(address + "web"); code != http.StatusConflict || !strings.Contains(body, "it is protected") {
		t.Errorf("question about a protected one = %d %s, want 409", code, body)
	}
	if code, _ := b.get(actionPath + "?action=drop&name=web"); code != http.StatusNotFound {
		t.Errorf("unknown action = %d, want 404", code)
	}
}

// Without actions neither questions nor changes are served.
func TestReadOnly(t *testing.T) {
	_, reading := newWorld(t, klusterIn(kubernikusv1.KlusterRunning, "web"))
	b := open(t, optionsOf(reading))
	if code, _ := b.get(actionPath + "?action=stop&namespace=garden-shop&name=web"); code != http.StatusNotFound {
		t.Errorf("question = %d, want 404", code)
	}
	if code, _ := b.post("x", confirmed{}); code != http.StatusForbidden {
		t.Errorf("change = %d, want 403", code)
	}
}

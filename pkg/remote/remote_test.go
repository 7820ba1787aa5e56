// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
)

const text = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: u}}], users: [{name: u, user: {token: hunter2}}], clusters: [{name: a, cluster: {server: "https://h:1"}}]}`

func TestConfig(t *testing.T) {
	config, err := Config([]byte(text), Options{QPS: 3, Burst: 4, Timeout: time.Second, UserAgent: "me"})
	if err != nil || config.Host != "https://h:1" || config.QPS != 3 || config.Burst != 4 || config.Timeout != time.Second || config.UserAgent != "me" {
		t.Errorf("%v, %v", config, err)
	}
	if !strings.HasPrefix(config.AcceptContentTypes, "application/vnd.kubernetes.protobuf,") {
		t.Error(config.AcceptContentTypes)
	}
	if config, err := Config([]byte(text), Options{}); err != nil || config.QPS >= 0 || config.Timeout != 0 {
		t.Errorf("not unlimited: %v, %v", config, err)
	}
	command := strings.Replace(text, "token: hunter2", "exec: {command: hunter2}", 1)
	if _, err := Config([]byte(command), Options{}); err == nil || !strings.Contains(err.Error(), "users[0].user.exec") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a kubeconfig with a command: %v", err)
	}
}

func service(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"big": "x"}, Labels: map[string]string{"app": "web"}}}
}

// TestInformers checks that only requested objects of some namespaces are cached until the context ends, and that nothing runs
// afterwards.
func TestInformers(t *testing.T) {
	client := fake.NewClientset(service("a", "one"), service("b", "two"), service("c", "three"))
	events := make(chan string, 10)
	informers := NewInformers([]string{"a", "b"}, From(client, metav1.ListOptions{}, client.CoreV1().Services), Kind[*corev1.Service]{
		Example: &corev1.Service{},
		Trim: func(s *corev1.Service) *corev1.Service {
			return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, ResourceVersion: s.ResourceVersion, Labels: s.Labels}}
		},
		Index: func(s *corev1.Service) string { return s.Labels["app"] },
		Set:   func(s *corev1.Service) { events <- "set " + s.Name },
		Changed: func(before, now *corev1.Service) {
			events <- "changed " + before.Labels["app"] + " to " + now.Labels["app"]
		},
		Deleted: func(s *corev1.Service, watched bool) {
			if watched {
				events <- "deleted " + s.Name
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { informers.Run(ctx) })
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return informers.Synced(), nil }); err != nil {
		t.Fatal(err)
	}
	<-events
	<-events
	if one, ok := informers.Get("a", "one"); !ok || len(one.Annotations) > 0 {
		t.Errorf("%+v", one)
	}
	if _, ok := informers.Get("c", "three"); ok {
		t.Error("it has another namespace")
	}
	if found := informers.Indexed("b", "web"); len(found) != 1 || found[0].Name != "two" {
		t.Error(found)
	}
	if found := informers.Indexed("c", "web"); len(found) > 0 {
		t.Error(found)
	}
	changed := service("a", "one")
	changed.Labels["app"], changed.ResourceVersion = "db", "2"
	if _, err := client.CoreV1().Services("a").Update(ctx, changed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"changed web to db", "set one"} {
		if event := <-events; event != want {
			t.Errorf("%s, want %s", event, want)
		}
	}
	if err := client.CoreV1().Services("a").Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if event := <-events; event != "deleted one" {
		t.Error(event)
	}
	count := 0
	informers.Each(func(*corev1.Service) { count++ })
	if count != 1 {
		t.Error(count)
	}
	cancel()
	group.Wait()
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// speaking returns clients of the shared plane that send and accept one content type only. When the test ends, it complains about
// what was sent or responded otherwise.
func speaking(t *testing.T, contentType string) *versioned.Clientset {
	t.Helper()
	config := shared.Config()
	config.ContentType, config.AcceptContentTypes = contentType, contentType
	spoken := &contentTypes{want: contentType}
	config.Wrap(spoken.listen)
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if spoken.responses == 0 || len(spoken.others) > 0 {
			t.Errorf("%d responds in %s, and otherwise: %q", spoken.responses, contentType, spoken.others)
		}
	})
	return clients
}

// contentTypes are those of requests and responds.
type contentTypes struct {
	want      string
	mu        sync.Mutex
	responses int
	others    []string
}

// listen notes what is transferred. Patches have dedicated types.
func (c *contentTypes) listen(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		sent, responded := request.Header.Get("Content-Type"), response.Header.Get("Content-Type")
		wrong := func(contentType string) bool { return contentType != "" && !strings.HasPrefix(contentType, c.want) }
		if wrong(responded) || wrong(sent) && request.Method != http.MethodPatch {
			c.others = append(c.others, request.Method+" "+sent+" → "+responded)
		} else {
			c.responses++
		}
		c.others = slices.Compact(c.others)
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// awaitLabel waits for an event with an object that has the label, and returns it.
func awaitLabel[T client.Object](t *testing.T, events watch.Interface, label string) T {
	t.Helper()
	for event := range events.ResultChan() {
		if object, ok := event.Object.(T); ok && object.GetLabels()[label] != "" {
			return object
		}
		if event.Type == watch.Error {
			t.Fatalf("the watch failed: %v", event.Object)
		}
	}
	t.Fatal("the watch ended")
	return *new(T)
}

func itemsOf[T client.Object](t *testing.T, list runtime.Object) []T {
	t.Helper()
	objects, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	var items []T
	for _, object := range objects {
		items = append(items, object.(T))
	}
	return items
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/scheme"
)

// protobufList encodes a list that continues at a token.
func protobufList(t *testing.T, token string) []byte {
	t.Helper()
	list := &midonetv1.TranslationList{Items: []midonetv1.Translation{*newTranslation("space", nameOf(0), 0, "")}}
	list.Continue, list.ResourceVersion = token, "17"
	list.SetGroupVersionKind(midonetv1.SchemeGroupVersion.WithKind("TranslationList"))
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestContinueOf(t *testing.T) {
	long := strings.Repeat("x", 300) // its length takes two bytes
	for _, test := range []struct {
		response []byte
		want     string
	}{
		{[]byte(`{"kind":"TranslationList","metadata":{"resourceVersion":"1","continue":"abc","remainingItemCount":3},"items":[]}`), "abc"},
		{[]byte(`{"kind":"TranslationList","items":[{}],"metadata":{"resourceVersion":"1"}}`), ""},
		{protobufList(t, "abc"), "abc"},
		{protobufList(t, long), long},
		{protobufList(t, ""), ""},
	} {
		if got, err := continueOf(test.response); got != test.want || err != nil {
			t.Errorf("%q: %q, %v", test.response, got, err)
		}
	}
	whole := protobufList(t, long)
	for name, response := range map[string][]byte{
		"nothing": nil, "a page": []byte("<html>"), "half of JSON": []byte(`{"metadata":{"continue":"ab`), "half of protobuf": whole[:len(whole)/2],
		"no list": append([]byte("k8s\x00"), 0x12, 3, 0x12, 0, 0), "too short": append([]byte("k8s\x00"), 0x12, 3, 0x0a, 9, 0),
	} {
		if token, err := continueOf(response); err == nil {
			t.Errorf("%s: it continues at %q", name, token)
		}
	}
}

// serve makes a client of a server that responds to each request by a function.
func serve(t *testing.T, media string, response func(w http.ResponseWriter, r *http.Request)) (*contender, *client) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(response))
	t.Cleanup(server.Close)
	c := &contender{name: "test", config: &rest.Config{Host: server.URL}, root: "/apis/g/v1", media: media}
	one, err := newClient(c.config, media)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(one.close)
	return c, one
}

func TestInPages(t *testing.T) {
	c, client := serve(t, typeJSON, func(w http.ResponseWriter, r *http.Request) {
		at, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Query().Get("continue"), "p&"))
		if r.URL.Path != "/apis/g/v1/namespaces/space/translations" || r.URL.Query().Get("limit") != "500" || at > 2 {
			http.Error(w, r.URL.String(), http.StatusBadRequest)
			return
		}
		token := ""
		if at < 2 {
			token = fmt.Sprintf(`"continue":"p&%d"`, at+1)
		}
		_, _ = fmt.Fprintf(w, `{"metadata":{%s}}`, token)
	})
	for objects, good := range map[int]bool{1001: true, 1500: true, 1000: false, 1501: false} {
		if err := inPages(t.Context(), c, client, "space", objects); (err == nil) != good {
			t.Errorf("%d objects in 3 pages: %v", objects, err)
		}
	}
}

// frames returns a watch that begins with objects, in either encoding.
func frames(media string, objects int) []byte {
	var out bytes.Buffer
	for i := range objects + 1 {
		event := nameOf(i)
		if i == objects {
			event = metav1.InitialEventsAnnotationKey
		}
		if media == typeJSON {
			fmt.Fprintf(&out, "{%q:true}\n", event)
			continue
		}
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(event))))
		out.WriteString(event)
	}
	return out.Bytes()
}

func TestWatched(t *testing.T) {
	for _, media := range []string{typeJSON, typeProtobuf} {
		c, client := serve(t, media, func(w http.ResponseWriter, r *http.Request) {
			if query := r.URL.Query(); query.Get("sendInitialEvents") != "true" || query.Get("allowWatchBookmarks") != "true" {
				http.Error(w, r.URL.String(), http.StatusBadRequest)
				return
			}
			_, _ = w.Write(frames(media, 3))
		})
		if err := watched(t.Context(), c, client, "space", 3); err != nil {
			t.Errorf("%s: %v", media, err)
		}
		if err := watched(t.Context(), c, client, "space", 4); err == nil {
			t.Errorf("%s: a watch with 3 objects is taken for one with 4", media)
		}
		c, client = serve(t, media, func(w http.ResponseWriter, _ *http.Request) {
			all := frames(media, 3)
			_, _ = w.Write(all[:len(all)-2])
		})
		if err := watched(t.Context(), c, client, "space", 3); err == nil {
			t.Errorf("%s: a watch that ends early is taken for a whole one", media)
		}
	}
}

func TestFrame(t *testing.T) {
	for _, media := range []string{typeJSON, typeProtobuf} {
		c := &contender{media: media}
		in := bufio.NewReaderSize(bytes.NewReader(frames(media, 2)), 64)
		for _, want := range []string{nameOf(0), nameOf(1), metav1.InitialEventsAnnotationKey} {
			if got, err := c.frame(in); err != nil || !bytes.Contains(got, []byte(want)) {
				t.Errorf("%s: %q, %v, not %s", media, got, err, want)
			}
		}
		if got, err := c.frame(in); err == nil {
			t.Errorf("%s: behind the last one is %q", media, got)
		}
	}
}

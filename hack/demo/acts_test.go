// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
)

// TestActs checks that each act is complete. Expressions that are none panic.
func TestActs(t *testing.T) {
	for i, a := range (&stage{ovn: &ovn{}}).acts() {
		if a.title == "" || a.tell == "" || a.page == "" || len(a.steps) == 0 {
			t.Errorf("act %d = %+v, want a title, a text, a page and steps", i+1, a)
		}
	}
}

// TestManifests checks that the objects of Kubernetes and Groundskeeper have no unknown fields, and that the acts name files that exist.
func TestManifests(t *testing.T) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, scheme.AddToScheme, configv1alpha1.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	source, err := os.ReadFile("acts.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.FieldsFunc(string(source), func(r rune) bool { return strings.ContainsRune(" \"`,)", r) }) {
		if name, ok := strings.CutPrefix(word, "hack/demo/"); ok {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("acts.go names %s: %v", word, err)
			}
		}
	}
	files, err := filepath.Glob("manifests/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("manifests = %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(file) == "local-volumes.yaml" { // a patch
				content = append([]byte("apiVersion: kubernikus.sap.cc/v1\nkind: Kluster\n"), content...)
			}
			if filepath.Base(file) == "cluster.yaml" { // a template
				content = []byte(os.Expand(string(content), func(string) string { return "e30=" }))
			}
			reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
			for {
				document, err := reader.Read()
				if errors.Is(err, io.EOF) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := decoder.Decode(document, nil, nil); err != nil && !runtime.IsNotRegisteredError(err) {
					t.Errorf("%v in %s", err, document)
				}
			}
		})
	}
}

// TestTranscript plays the acts with the outputs that the page in docs shows: they are what the acts accept, and the page is what
// they print.
func TestTranscript(t *testing.T) {
	page := read(t, "docs/life-of-a-cluster.md")
	commands, outputs := transcript(page)
	var out bytes.Buffer
	p := &player{out: &out, page: &out, alone: true, pause: func(context.Context) error { return nil }}
	p.camera = func(_ context.Context, file, _, _ string) error {
		return small(filepath.Join("..", "..", "docs", file))
	}
	p.execute = func(_ context.Context, command string) (string, error) {
		if len(commands) == 0 || commands[0] != command {
			t.Fatalf("an act runs\n%s\nwant the next command of the page, of %q, or another output of the one before", command, commands)
		}
		output := outputs[0]
		commands, outputs = commands[1:], outputs[1:]
		if strings.HasPrefix(output, "Error from server") {
			return output, errors.New("exit status 1")
		}
		return output, nil
	}
	if err := p.play(t.Context(), (&stage{ovn: &ovn{}}).acts()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(page, out.String()); diff != "" {
		t.Errorf("the page is not what the acts print (docs/development.md says how to write it), -page +acts:\n%s", diff)
	}
}

// small returns an error unless there is a picture that a page can load quickly.
func small(file string) error {
	info, err := os.Stat(file)
	if err == nil && info.Size() > 60_000 {
		err = fmt.Errorf("%s has %d bytes, want at most 60000", file, info.Size())
	}
	return err
}

// TestCast checks that the drawing in the README is what the page shows of its act.
func TestCast(t *testing.T) {
	if diff := cmp.Diff(read(t, "docs/"+castFile), cast(read(t, "docs/life-of-a-cluster.md"))); diff != "" {
		t.Errorf("docs/%s is not the cast of act %s, -file +cast:\n%s", castFile, castAct, diff)
	}
	head, _, _ := strings.Cut(read(t, "README.md"), "\n## ")
	for _, want := range []string{
		"](docs/drawings/life.svg)", "](docs/" + castFile + ")", "](docs/life-of-a-cluster.md#act-" + castAct + "-",
	} {
		if !strings.Contains(head, want) {
			t.Errorf("the README does not begin with %s: %s", want, head)
		}
	}
}

// TestExcerpts checks that the page of each part begins with what the page shows of its act.
func TestExcerpts(t *testing.T) {
	page := read(t, "docs/life-of-a-cluster.md")
	for file, act := range map[string]string{
		"docs/deorbit.md": "6", "docs/backend-maintenance.md": "5", "docs/projects.md": "1", "docs/local-volumes.md": "4", "docs/ovn.md": "8",
	} {
		t.Run(file, func(t *testing.T) {
			_, shown := section(page, act)
			head, rest, _ := strings.Cut(read(t, file), "life-of-a-cluster.md#act-"+act)
			text, rest, _ := strings.Cut(rest, "\n```\n")
			excerpt, _, ends := strings.Cut(rest, "\n```\n")
			if !ends || strings.Contains(head+text, "\n## ") {
				t.Fatalf("no excerpt of act %s is before the first section: %s", act, head+text)
			}
			for line := range strings.SplitSeq(excerpt, "\n") {
				if !strings.Contains(shown, "\n    "+line+"\n") {
					t.Errorf("act %s does not show %q", act, line)
				}
			}
		})
	}
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// transcript returns the commands of a page, and their outputs.
func transcript(page string) (commands, outputs []string) {
	blank := ""
	shown := false // the line is one of an output
	for line := range strings.Lines(page) {
		text, indented := strings.CutPrefix(line, "    ")
		command, isCommand := strings.CutPrefix(text, "$ ")
		switch {
		case indented && isCommand:
			commands, outputs, shown = append(commands, strings.TrimSuffix(command, "\n")), append(outputs, ""), true
		case indented && shown:
			outputs[len(outputs)-1] += blank + text
		case line == "\n":
			blank += line
			continue
		default:
			shown = false
		}
		blank = ""
	}
	return commands, outputs
}

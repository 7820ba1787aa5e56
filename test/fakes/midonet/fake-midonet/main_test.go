// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestServe checks that the command prints its address, has the given hosts, and exits with its context.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("open\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer := io.Pipe()
	var problems bytes.Buffer
	var wg sync.WaitGroup
	code := -1
	wg.Go(func() {
		code = execute(ctx, []string{"--address=127.0.0.1:0", "--hosts=node-a,node-b", "--latency=1ms", "--username=admin", "--password-file=" + file}, writer, &problems)
		_ = writer.Close()
	})
	lines := bufio.NewScanner(reader)
	url := ""
	for url == "" && lines.Scan() {
		if strings.Contains(lines.Text(), "open") {
			t.Errorf("the password is printed: %s", lines.Text())
		}
		_, url, _ = strings.Cut(lines.Text(), "Content: ")
	}
	if url == "" {
		t.Fatalf("the command printed no place: %s", problems.String())
	}
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(data), "hosts (2)") {
		t.Errorf("the listing is %s", data)
	}
	for password, want := range map[string]int{"open": http.StatusOK, "open\n": http.StatusUnauthorized} {
		login, err := http.NewRequest(http.MethodPost, strings.TrimSuffix(url, "/_fake/")+"/midonet-api/login", nil)
		if err != nil {
			t.Fatal(err)
		}
		login.SetBasicAuth("admin", password)
		resp, err := http.DefaultClient.Do(login)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a login with %q: %d, want %d", password, resp.StatusCode, want)
		}
	}
	cancel()
	wg.Wait()
	if code != 0 {
		t.Errorf("exit code %d, want 0: %s", code, problems.String())
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"--address=0.0.0.0:0"}, {"--address=x"}, {"--latency=-1s"}, {"--password-file=nowhere"}, {"--password=a", "--password-file=b"}, {"more"}, {"--unknown"}} {
		var out, problems bytes.Buffer
		if code := execute(t.Context(), args, &out, &problems); code != 1 || !strings.HasPrefix(problems.String(), "error: ") {
			t.Errorf("%v: exit code %d with %q, want 1 and an error", args, code, problems.String())
		}
	}
}

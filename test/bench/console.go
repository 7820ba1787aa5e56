// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"groundskeeper.io/groundskeeper/pkg/plugin/console"
	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
)

const (
	benchmarkConsoleName = "console"
	consoleName          = "kubectl-groundskeeper"

	projectsOfConsole     = 10_000
	klustersOfConsole     = 10_000
	translationsOfConsole = 26_000

	goalConsoleSeconds = 2.0
	goalConsoleMiB     = 150.0
	goalSearchMillis   = 100.0
)

// benchmarkConsole runs "kubectl groundskeeper console" on an API server in memory, so that only the console is measured, and opens its
// page as a browser does.
func benchmarkConsole(ctx context.Context, reporter *report.Reporter) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := newListedServer(projectsOfConsole, klustersOfConsole, translationsOfConsole)
	if err != nil {
		return err
	}
	defer server.Close()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"], config.Contexts["it"], config.CurrentContext = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{Cluster: "it"}, "it"
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	binary, err := filepath.Abs(filepath.Join("_output", "bin", consoleName))
	if err != nil {
		return err
	}
	process := exec.CommandContext(ctx, binary, "console", "--kubeconfig", kubeconfig)
	process.Cancel = func() error { return process.Process.Signal(os.Interrupt) }
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		return err
	}
	started := time.Now()
	if err := process.Start(); err != nil {
		return fmt.Errorf("%w: run make build", err)
	}
	defer func() { stop(); _ = process.Wait() }() // it was interrupted
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the URL of the console: %w", err)
	}
	page, err := openConsole(ctx, strings.TrimSpace(address))
	if err != nil {
		return err
	}
	if err := page.complete(ctx); err != nil {
		return err
	}
	took := time.Since(started)
	searched := time.Now()
	if err := page.get(ctx, "/api/search?q=web-123", io.Discard); err != nil {
		return err
	}
	search := time.Since(searched)
	used, err := probe.UsageOf(process.Process.Pid)
	if err != nil {
		return err
	}
	for _, f := range []report.Figure{
		{Name: fmt.Sprintf("from the start until %d Projects, %d Klusters and %d Translations are on the page", projectsOfConsole, klustersOfConsole, translationsOfConsole), Value: took.Seconds(), Unit: "s", Goal: new(goalConsoleSeconds)},
		{Name: "most resident memory", Value: used.Peak, Unit: "MiB", Goal: new(goalConsoleMiB)},
		{Name: "resident memory", Value: used.RSS, Unit: "MiB"},
		{Name: "CPU time", Value: used.CPU.Seconds(), Unit: "s"},
		{Name: "search", Value: float64(search.Microseconds()) / 1000, Unit: "ms", Goal: new(goalSearchMillis)},
	} {
		f.Benchmark = benchmarkConsoleName
		if err := reporter.Add(f); err != nil {
			return err
		}
	}
	return nil
}

// consolePage is the page as a browser has it.
type consolePage struct {
	client *http.Client
	base   string
}

// openConsole exchanges the token of the URL for the cookie.
func openConsole(ctx context.Context, address string) (*consolePage, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	p := &consolePage{client: &http.Client{Jar: jar}, base: "http://" + u.Host}
	for _, asset := range []string{"/?" + u.RawQuery, "/console.js", "/console.css"} {
		if err := p.get(ctx, asset, io.Discard); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *consolePage) request(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		err = fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return response, err
}

func (p *consolePage) get(ctx context.Context, path string, into io.Writer) error {
	response, err := p.request(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(into, response.Body)
	return err
}

// complete reads the stream until all objects are on the page.
func (p *consolePage) complete(ctx context.Context) error {
	response, err := p.request(ctx, "/api/stream")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read the stream: %w", err)
		}
		data, ok := strings.CutPrefix(string(line), "data: ")
		if !ok {
			continue
		}
		var d console.Delta
		if err := json.Unmarshal([]byte(data), &d); err != nil {
			return err
		}
		counts := map[string]int{}
		for _, c := range d.Checked {
			if c.Problem != "" && !c.Other { // there are only kinds of Groundskeeper
				return fmt.Errorf("%s: %s", c.Name, c.Problem)
			}
			counts[c.Name] = c.Count
		}
		if counts["Projects"] == projectsOfConsole && counts["Klusters"] == klustersOfConsole && counts["Translations"] == translationsOfConsole {
			return nil
		}
	}
}

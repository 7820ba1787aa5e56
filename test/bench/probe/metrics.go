// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Sample is one value of a metric.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Scrape reads the samples of one metric from a page in Prometheus' text format. There may be none.
func Scrape(ctx context.Context, client *http.Client, url, metric string) ([]Sample, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return samplesOf(response.Body, metric)
}

func samplesOf(page io.Reader, metric string) ([]Sample, error) {
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	var samples []Sample
	lines := bufio.NewScanner(page)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		rest, is := strings.CutPrefix(lines.Text(), metric)
		if !is || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		end := strings.LastIndexByte(rest, ' ')
		value, err := strconv.ParseFloat(rest[end+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("metric %s: %w", metric, err)
		}
		s := Sample{Labels: map[string]string{}, Value: value}
		for _, match := range label.FindAllStringSubmatch(rest[:end], -1) {
			s.Labels[match[1]] = match[2]
		}
		samples = append(samples, s)
	}
	return samples, lines.Err()
}

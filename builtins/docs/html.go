package docs

import (
	"bytes"
	"html/template"
	"os"
	"path/filepath"

	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
)

// pages are the pages of the documentation: one that lists all, one for each
// group. They need nothing from outside.
const pages = `
{{- define "head"}}<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { font: 14px/1.4 ui-monospace, monospace; white-space: pre-wrap; padding: 1rem; background: #8881; border-radius: 4px; }
dt { font-family: ui-monospace, monospace; } dd { margin: 0 0 .4rem 2rem; }
</style>
{{end -}}
{{define "index"}}{{template "head" "sgs: names"}}
<h1>What scripts can use</h1>
{{range .}}<h2><a href="{{.Name}}.html">{{.Name}}</a></h2>
<dl>
{{$group := .Name}}{{range .Entries}}<dt><a href="{{$group}}.html#{{.Name}}">{{.Name}}</a></dt><dd>{{.Summary}}</dd>
{{end}}</dl>
{{end}}</html>
{{end -}}
{{define "group"}}{{template "head" .Name}}
<p><a href="index.html">all names</a></p>
<h1>{{.Name}}</h1>
{{range .Entries}}<h2 id="{{.Name}}">{{.Name}}</h2>
<pre>{{.Text}}</pre>
{{end}}</html>
{{end}}`

// WriteHTML writes the pages into a folder, which is made, and returns how many.
func (x *Index) WriteHTML(dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	t := template.Must(template.New("").Parse(pages))
	groups := x.groups()
	if err := writePage(t, filepath.Join(dir, "index.html"), "index", groups); err != nil {
		return 0, err
	}
	for _, g := range groups {
		if err := writePage(t, filepath.Join(dir, g.Name+".html"), "group", g); err != nil {
			return 0, err
		}
	}
	return len(groups) + 1, nil
}

func writePage(t *template.Template, file, page string, data any) error {
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, page, data); err != nil {
		return err
	}
	return atomicfile.Replace(file, b.Bytes())
}

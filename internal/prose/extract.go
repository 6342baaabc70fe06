package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// line is a line of text with its number, starting at 1.
type line struct {
	number int
	text   string
}

// paragraph is consecutive lines of text of one kind.
type paragraph struct {
	kind  Kind
	lines []line
}

// identifier is the name of a type or function. Its pattern is empty if the name is idiomatic.
type identifier struct {
	line          int
	name, pattern string
}

// content is the measured content of one file.
type content struct {
	paragraphs  []paragraph
	identifiers []identifier
	// definitions are the first lines of doc comments that document a function as a thing.
	definitions []line
}

var (
	word      = regexp.MustCompile(`[A-Za-z][A-Za-z'’-]*`)
	quoted    = regexp.MustCompile("`[^`]*`")
	escape    = regexp.MustCompile(`[\n\t"\\]`)
	codeLike  = regexp.MustCompile(`^\s*(\$|#|holdfast |kubectl |-{1,2}[a-z]|[a-z][\w.-]*:( |$)|[{}<|]|\.|@|\w+\()`)
	directive = regexp.MustCompile(`^\s*(go:|nolint|\+[a-z]|#nosec|https?:)`)
	testName  = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)(\w+)$`)
	camelCase = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	skipped   = regexp.MustCompile(`(?m)^//prose:ok$`)
)

// goContent returns the content of a Go file.
func goContent(name string, source []byte) (content, error) {
	if skipped.Match(source) {
		return content{}, nil
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return content{}, err
	}
	e := &goExtractor{set: set, source: strings.Split(string(source), "\n"), isTest: strings.HasSuffix(name, "_test.go")}
	for _, group := range file.Comments {
		e.comment(group)
	}
	ast.Inspect(file, e.visit)
	return e.content, nil
}

// goExtractor collects the content of a Go file.
type goExtractor struct {
	content

	set    *token.FileSet
	source []string
	isTest bool
}

// comment adds the paragraphs of a comment, without directives and code blocks.
func (e *goExtractor) comment(group *ast.CommentGroup) {
	var lines []line
	for _, c := range group.List {
		first := e.set.Position(c.Pos()).Line
		isBlock := strings.HasPrefix(c.Text, "/*")
		for i, text := range strings.Split(strings.TrimSuffix(c.Text[2:], "*/"), "\n") {
			if isBlock {
				text = strings.TrimLeft(text, " *")
			}
			if directive.MatchString(text) || strings.HasPrefix(text, "\t") || strings.HasPrefix(text, "    ") {
				text = ""
			}
			lines = append(lines, line{first + i, quoted.ReplaceAllString(text, "CODE")})
		}
	}
	e.add(Comments, lines)
}

// visit adds a string or a declaration.
func (e *goExtractor) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.BasicLit:
		if node.Kind == token.STRING {
			e.literal(node)
		}
	case *ast.FuncDecl:
		e.function(node)
	case *ast.TypeSpec:
		e.typeName(node)
	}
	return true
}

// literal adds a string that looks like prose: at least three words, and no code.
func (e *goExtractor) literal(node *ast.BasicLit) {
	value, err := strconv.Unquote(node.Value)
	if err != nil {
		return
	}
	first := e.set.Position(node.Pos()).Line
	isRaw := strings.HasPrefix(node.Value, "`")
	if !isRaw {
		value = escape.ReplaceAllString(value, " ")
	}
	for i, text := range strings.Split(value, "\n") {
		if isCode := isRaw && codeLike.MatchString(text); isCode || !strings.Contains(text, " ") {
			continue
		}
		if len(word.FindAllString(text, 3)) == 3 {
			e.add(Strings, []line{{first + i, text}})
		}
	}
}

// function adds the name of a function, or of a test, and checks its doc comment.
func (e *goExtractor) function(node *ast.FuncDecl) {
	name, number := node.Name.Name, e.set.Position(node.Pos()).Line
	if match := testName.FindStringSubmatch(name); e.isTest && node.Recv == nil && match != nil {
		e.add(TestNames, []line{{number, strings.ToLower(words(match[2]))}})
	}
	if node.Doc != nil {
		first, _, _ := strings.Cut(node.Doc.Text(), "\n")
		rest, named := strings.CutPrefix(first, name)
		if named && definition.MatchString(rest) && !noDefinition.MatchString(rest) {
			e.definitions = append(e.definitions, line{e.set.Position(node.Doc.Pos()).Line, first})
		}
	}
	if !e.isTest {
		found := identifier{line: number, name: name}
		if oddFunctions[strings.ToLower(name)] {
			found.pattern = "oddfunc"
		}
		e.identifiers = append(e.identifiers, found)
	}
}

// typeName adds the name of a struct or interface.
func (e *goExtractor) typeName(node *ast.TypeSpec) {
	switch node.Type.(type) {
	case *ast.StructType, *ast.InterfaceType:
	default:
		return
	}
	if e.isTest {
		return
	}
	found := identifier{line: e.set.Position(node.Pos()).Line, name: node.Name.Name}
	if oddType.MatchString(found.name) && !goodType.MatchString(found.name) {
		found.pattern = "oddtype"
	}
	e.identifiers = append(e.identifiers, found)
}

// add splits lines into paragraphs at empty lines, and drops lines that are marked in the source.
func (e *goExtractor) add(kind Kind, lines []line) {
	var current []line
	for _, l := range append(lines, line{}) {
		isMarked := l.number > 0 && strings.Contains(e.source[l.number-1], "prose:ok")
		if isMarked || strings.TrimSpace(l.text) == "" {
			if current != nil {
				e.paragraphs = append(e.paragraphs, paragraph{kind, current})
			}
			current = nil
			continue
		}
		current = append(current, line{l.number, strings.TrimSpace(l.text)})
	}
}

// words splits a camel-case or hyphenated name into words.
func words(name string) string {
	return strings.NewReplacer("_", " ", "-", " ").Replace(camelCase.ReplaceAllString(name, "$1 $2"))
}

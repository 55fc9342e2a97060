package statement

// TokenKind is the kind of a Token.
type TokenKind uint8

const (
	// TokenWord is a keyword or an unquoted name.
	TokenWord TokenKind = iota
	// TokenName is "name" or `name`.
	TokenName
	// TokenText is 'text', e'text' or $$text$$.
	TokenText
	// TokenNumber is a number as written.
	TokenNumber
	// TokenSymbol is one character, or ::.
	TokenSymbol
	// TokenComment is a comment of either kind. A comment that starts with -- includes the line end.
	TokenComment
	// TokenUnfinished is a quote or comment that reaches to the end of the text without ending.
	TokenUnfinished
)

// Token is a piece of a statement, for programs that help users to write statements.
type Token struct {
	Kind TokenKind
	// From and To are offsets into the text.
	From, To int
	// Value is the content of a TokenText or TokenName, and the original text of other tokens. For a TokenUnfinished
	// it says what is not terminated.
	Value string
}

// Tokens splits a text into tokens, with the same rules as for parsing statements. White space is not part of any
// token.
func Tokens(src string) []Token {
	kinds := [...]TokenKind{
		word: TokenWord, quoted: TokenName, text: TokenText, number: TokenNumber,
		symbol: TokenSymbol, comment: TokenComment, unknown: TokenUnfinished,
	}
	l := lexer{src: src}
	var out []Token
	for {
		t := l.scan()
		if t.kind == eof {
			return out
		}
		out = append(out, Token{Kind: kinds[t.kind], From: t.from, To: t.to, Value: t.val})
	}
}

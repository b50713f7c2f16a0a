//! The kinds of secrets in the corpus, in their issuers' formats, and the texts around them.
//!
//! Templates are filled at run time, so that this file contains no secret: `{h32}` is 32 random characters (`h` hex,
//! `a` lower-case letters and digits, `n` letters and digits, `A` capitals and digits, `d` digits, `b` base64, `w`
//! base64 for URLs, `x` base 32), `{p}` a chosen password, `{u}` a UUID, and `|` nothing: it splits what would be found
//! in this file. The secret is the text between `<` and `>`, or all of it without them.

/// Tokens identified by their format.
#[rustfmt::skip]
pub const TOKENS: &[(&str, &str)] = &[
    ("aws access key id", "AK|IA{x16}"), ("aws temporary key id", "AS|IA{x16}"),
    ("aws bedrock key", "AB|SKQmVkcm9ja0FQSUtleS{b110}"), ("google api key", "AI|zaSy{w33}"),
    ("google client secret", "GOC|SPX-{w28}"), ("google access token", "ya|29.a0{w120}"),
    ("google refresh token", "1|//0{d1}{w60}"), ("azure client secret", "{n3}8|Q~{w34}"),
    ("azure devops token", "{n76}A|ZDO{n4}"), ("azure storage key", "DefaultEndpointsProtocol=https;AccountName=logs;Account|Key=<{b86}==>;EndpointSuffix=core.windows.net"),
    ("azure service bus", "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccess|Key=<{b43}=>"),
    ("azure sas", "https://logs.blob.core.windows.net/c/f?sv=2022-11-02&se=2026-01-01T00%3A00%3A00Z&sp=r&s|ig=<{n42}%3D>"),
    ("digitalocean token", "dop|_v1_{h64}"), ("digitalocean refresh", "dor|_v1_{h64}"), ("heroku key", "HR|KU-{u}"),
    ("heroku new key", "HR|KU-AA{w58}"), ("alibaba key id", "LT|AI5t{n20}"), ("tencent key id", "AK|ID{n32}"),
    ("fly token", "fm|2_{b120}"), ("cloudflare origin key", "v1.|0-{h24}-{h146}"), ("netlify token", "nf|p_{n36}"),
    ("render key", "rn|d_{n28}"), ("doppler token", "dp.|pt.{n43}"), ("doppler service token", "dp.|st.prd.{n43}"),
    ("vault service token", "hv|s.{w95}"), ("vault batch token", "hv|b.{w140}"), ("terraform token", "{n14}.atlas|v1.{w67}"),
    ("pulumi token", "pu|l-{h40}"), ("databricks token", "da|pi{h32}"), ("planetscale token", "pscale|_tkn_{w43}"),
    ("planetscale password", "pscale|_pw_{w43}"), ("supabase token", "sb|p_{h40}"), ("supabase secret key", "sb_|secret_{w31}"),
    ("neon key", "na|pi_{a64}"), ("github token", "gh|p_{n36}"), ("github fine-grained token", "github|_pat_{n22}_{n59}"),
    ("github oauth", "gh|o_{n36}"), ("github server token", "gh|s_{n36}"), ("gitlab token", "gl|pat-{w20}"),
    ("gitlab routable token", "gl|pat-{w27}.01.{a9}"), ("gitlab runner token", "gl|rt-{w20}"), ("gitlab trigger", "gl|ptt-{h40}"),
    ("gitlab registration", "GR|1348941{w20}"), ("bitbucket app password", "AT|BB{n32}"), ("atlassian token", "AT|ATT3xFfGF0{w170}={A8}"),
    ("bitbucket token", "AT|CTT3xFfGN0{w150}={A8}"), ("npm token", "np|m_{n36}"), ("pypi token", "py|pi-AgEIcHlwaS5vcmc{w150}"),
    ("rubygems key", "ruby|gems_{h48}"), ("crates token", "ci|o{n32}"), ("nuget key", "oy|2{a43}"), ("docker token", "dckr|_pat_{w27}"),
    ("clojars token", "CLO|JARS_{h60}"), ("artifactory key", "AK|Cp{n69}"), ("circleci token", "CCI|PAT_{n22}_{h40}"),
    ("buildkite token", "bk|ua_{h40}"), ("sonar token", "sq|p_{h40}"), ("sentry org token", "sntr|ys_eyJ{w90}_{b43}"),
    ("sentry user token", "sntr|yu_{h64}"), ("new relic user key", "NR|AK-{A27}"), ("new relic license", "{h32}FFFF|NRAL"),
    ("grafana service token", "gl|sa_{n32}_{h8}"), ("grafana cloud token", "gl|c_eyJ{b80}"), ("dynatrace token", "dt0|c01.{A24}.{A64}"),
    ("honeycomb key", "hca|ik_01{a56}"), ("anthropic key", "sk-|ant-api03-{w93}AA"), ("openai project key", "sk-|proj-{w74}T3Blbk|FJ{w74}"),
    ("openai key", "sk-|{n20}T3Blbk|FJ{n20}"), ("deepseek key", "sk-|{h32}"), ("openrouter key", "sk-|or-v1-{h64}"),
    ("huggingface token", "hf|_{n34}"), ("groq key", "gs|k_{n52}"), ("replicate token", "r8|_{n37}"), ("perplexity key", "pp|lx-{n48}"),
    ("xai key", "xa|i-{n80}"), ("nvidia key", "nv|api-{w64}"), ("langsmith key", "lsv|2_pt_{h32}_{h10}"), ("tavily key", "tv|ly-dev-{n32}"),
    ("pinecone key", "pc|sk_{n70}"), ("slack bot token", "xo|xb-{d12}-{d13}-{n24}"), ("slack app token", "xa|pp-1-A{A10}-{d13}-{h64}"),
    ("slack webhook", "https://hooks.|slack.com/services/T{A10}/B{A10}/{n24}"), ("discord webhook", "https://discord|.com/api/webhooks/{d18}/{w68}"),
    ("discord bot token", "MT{n24}.G{w5}.{w38}"), ("telegram token", "{d10}|:AA{w33}"),
    ("teams webhook", "https://acme.webhook|.office.com/webhookb2/{u}@{u}/IncomingWebhook/<{h32}/{u}>"), ("stripe key", "sk|_live_{n99}"),
    ("stripe restricted key", "rk|_live_{n99}"), ("stripe test key", "sk|_test_{n24}"), ("stripe webhook secret", "wh|sec_{n32}"),
    ("square token", "EA|AA{w60}"), ("square secret", "sq0|csp-{w43}"), ("braintree token", "access_token|$production${a16}${h32}"),
    ("plaid token", "access-|production-{u}"), ("shopify token", "shp|at_{h32}"), ("sendgrid key", "SG|.{w22}.{w43}"), ("mailgun key", "ke|y-{h32}"),
    ("mailchimp key", "{h32}-|us12"), ("brevo key", "xkeys|ib-{h64}-{n16}"), ("resend key", "re|_{n8}_{n24}"), ("twilio key", "S|K{h32}"),
    ("jwt", "ey|JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{w80}.{w43}"),
];

/// More tokens identified by their format.
#[rustfmt::skip]
pub const MORE_TOKENS: &[(&str, &str)] = &[
    ("notion token", "nt|n_{d11}{n35}"), ("notion secret", "secret|_{n43}"), ("linear key", "lin|_api_{n40}"), ("figma token", "fi|gd_{w40}"),
    ("airtable token", "pa|t{n14}.{h64}"), ("asana token", "2|/{d16}/{d16}:{h32}"), ("postman key", "PM|AK-{h24}-{h34}"),
    ("typeform token", "tf|p_{w44}_{n14}"), ("contentful token", "CF|PAT-{w43}"), ("dropbox token", "sl|.u.{w130}"),
    ("mapbox secret token", "sk|.eyJ1Ijoi{w60}.{w22}"), ("launchdarkly key", "sd|k-{u}"), ("1password service token", "ops|_eyJ{b200}"),
    ("tailscale key", "tskey|-auth-{n12}CNTRL-{n32}"), ("cloudinary url", "cloudinary|://{d15}:<{w27}>@acme"), ("facebook token", "EA|AG{n150}"),
    ("twitter bearer", "AAAAAAAAA|AAAAAAAAAAAAA{n80}"), ("age key", "AGE-|SECRET-KEY-1{A58}"), ("shippo token", "shippo|_live_{h40}"),
    ("easypost key", "EZ|AK{n54}"), ("duffel token", "duffel|_live_{w43}"), ("frameio token", "fi|o-u-{w64}"), ("readme token", "rd|me_{a70}"),
    ("prefect key", "pn|u_{a36}"), ("adobe secret", "p8|e-{a32}"),
];

/// Secrets identified only by the text around them.
#[rustfmt::skip]
pub const NAMED: &[(&str, &str)] = &[
    ("shell aws secret", "export AWS_SECRET_ACCESS_KEY=<{b40}>"), ("ini aws secret", "aws_secret_access_key = <{b40}>"),
    ("aws session token", "AWS_SESSION_TOKEN=<IQoJb3JpZ2luX2Vj{b240}>"), ("env cloudflare", "CLOUDFLARE_API_TOKEN=<{w40}>"),
    ("env vercel", "VERCEL_TOKEN=<{n24}>"), ("env linode", "LINODE_TOKEN=<{h64}>"), ("env datadog", "DD_API_KEY=<{h32}>"),
    ("yaml datadog", "datadog:\n  api_key: <{h32}>"), ("env twilio", "TWILIO_AUTH_TOKEN=<{h32}>"), ("json algolia", "\"algoliaAdminApiKey\": \"<{h32}>\""),
    ("env wandb", "WANDB_API_KEY=<{h40}>"), ("env mistral", "MISTRAL_API_KEY=<{n32}>"), ("env cohere", "COHERE_API_KEY=<{n40}>"),
    ("toml client secret", "client_secret = \"<{w40}>\""), ("json client secret", "{\"client_id\": \"web\", \"client_secret\": \"<{n32}>\"}"),
    ("yaml password", "password: <{p}>"), ("json password", "\"password\": \"<{p}>\""), ("env password", "DB_PASSWORD=<{p}>"),
    ("toml password", "password = \"<{p}>\""), ("ruby password", "config.password = '<{p}>'"), ("js password", "const dbPassword = '<{p}>';"),
    ("rust password", "let password: &str = \"<{p}>\";"), ("flag password", "mysqldump --user=root --password=<{p}> shop"),
    ("flag token", "vault login --token <{n24}>"), ("xml password", "<|password><{p}><|/password>"), ("bearer header", "curl -H 'Authorization: Bearer <{n40}>' https://api.example.org/v1/me"),
    ("basic header", "curl -H 'Authorization: Basic <{B}>' https://api.example.org/v1/me"), ("token header", "Authorization: token <{h40}>"),
    ("key header", "X-Api-Key: <{n32}>"), ("gitlab header", "PRIVATE-TOKEN: <{w20}>"), ("curl user", "curl -u deploy:<{p}> https://repo.example.org/up"),
    ("url password", "https://deploy:<{p}>@git.example.org/app.git"), ("postgres", "postgres://app:<{p}>@db.internal:5432/shop"),
    ("mysql", "mysql://app:<{p}>@db.internal/shop"), ("mongodb", "mongodb+srv://app:<{p}>@cluster0.abc12.mongodb.net/shop"),
    ("redis", "redis://:<{p}>@cache.internal:6379/0"), ("amqp", "amqps://app:<{p}>@mq.internal/vhost"), ("smtp", "smtp://mailer:<{p}>@mail.example.org:587"),
    ("mssql", "Server=db1;Database=shop;User Id=app;Password=<{p}>;Encrypt=true"), ("jdbc", "jdbc:postgresql://db/shop?user=app&password=<{p}>"),
    ("pgpass env", "PGPASSWORD=<{p}> psql -h db shop"), ("sshpass", "sshpass -p '<{p}>' ssh deploy@host"), ("netrc", "machine api.example.org login deploy password <{p}>"),
    ("npmrc", "//registry.example.org/:_auth|Token=<{u}>"), ("docker config", "{\"auths\": {\"registry.example.org\": {\"auth\": \"<{B}>\"}}}"),
    ("django secret", "SECRET_KEY = 'django-insecure-<{w50}>'"), ("rails key", "secret_key_base: <{h128}>"), ("master key", "RAILS_MASTER_KEY=<{h32}>"),
    ("query token", "GET /hook?access_token=<{n40}>&page=2 200"), ("prose password", "the password of the staging database is <{p}>"),
    ("encryption key", "ENCRYPTION_KEY=<{b43}=>"), ("signing key", "\"signingKey\": \"<{b43}=>\""),
];

/// The first lines of private keys.
#[rustfmt::skip]
pub const KEYS: [&str; 8] = ["RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ", "", "PGP @", "SSH2 ENCRYPTED "];

/// Contexts of a secret (`@`): an agent's sentence, a command, a log, JSON, a list, a table, the end of a line.
#[rustfmt::skip]
pub const AROUND: [&str; 8] = [
    "@", "Deploying failed because the runner still used `@`, so it was rotated.", "2026-11-21T21:48:03Z ERROR worker[3]: request failed, sent @ to upstream",
    "{\"step\": 4, \"note\": \"@\", \"ok\": false}", "I ran it with @\nand it answered 401 twice.", "- tried @ (expired?)", "| staging | @ | works |",
    "stderr: invalid credential: @",
];

import{a as Ge,b as Et}from"./chunk-QKO5OF2E.js";import{$ as Be,A as S,B as Re,C as B,E as _e,F as De,G as Ae,H as se,I as O,J as Ne,K as ne,L as be,M as Pe,N as Le,O as Ie,S as _,T as qe,U as Me,V as je,W as We,X as oe,Y as Ue,Z as Fe,a as g,aa as ze,b as v,ba as T,c as he,ca as N,d as Oe,da as re,e as Se,ea as He,f as s,fa as z,g as b,ga as G,h as w,i as E,ia as ge,j as U,ja as Ve,l as Ee,m as ee,n as j,o as fe,p as W,q as V,r as te,s as F,t as L,u as A,w as R,x,y as K,z as ae}from"./chunk-XPHS6JSY.js";var Rt=8;function _t({stores:e}){let{analysis:t,explore:a,prefs:r}=e,n=t.sets.value,o=r.zone.value,{q:l,bq:i}=a.state.value,[c,u]=g(i);v(()=>{t.compare()},[JSON.stringify(n),l]);let d=t.comparison.value.value,m=d!==null&&(d.a.rows===0||d.b.rows===0);return s`<div class="comparing" data-ui="compare"><div class="subhead">${n&&s`<span><i class="set-a"></i>A: ${(p=>`${O(p.from,o)} \u2013 ${O(p.to,o).slice(11)}`)(n.a)} <b>${d&&b(d.a.rows)}</b></span>
<span><i class="set-b"></i>B: ${n.rest?"the rest of the range":i?s`the search <code>${i}</code>`:"the range before"} <b>${d&&b(d.b.rows)}</b></span>`}<span class="grow"></span>${(a.state.value.afrom||i)&&s`<button class="text" onClick=${()=>a.set({afrom:"",ato:"",bq:""})}>Compare with the range before</button>`}
<form class="withsearch" onSubmit=${p=>{p.preventDefault(),a.set({bq:c.trim(),afrom:"",ato:""})}}><input data-ui="compare-search" aria-label="Compare with the rows of this search" placeholder="with another search" value=${c} onInput=${p=>u(p.currentTarget.value)} /></form></div>
<${x} latest=${t.comparison} what="Comparing" />
${d?.low&&!m&&s`<p class="wrong none">One set has fewer than 30 rows: the differences may be chance.</p>`}
${m&&s`<${Dt} answer=${d} before=${!n?.rest&&!i} />`}
${d&&!m&&d.fields.length===0&&s`<${S} title="No field differs."><p>Drag over a part of the histogram to compare it with the rest.</p><//>`}
<div class=${`compared ${t.comparison.since.value&&d?"dim":""}`}>${d?.fields.map(p=>s`<${At} key=${p.name} field=${p} answer=${d} onOnly=${a.only} onWithout=${a.without} />`)}
${d&&(d.same.length>0||d.unique.length>0)&&s`<p class="quiet none">${d.same.length>0&&`Alike in both: ${d.same.join(", ")}. `}${d.unique.length>0&&`Different in each row: ${d.unique.join(", ")}.`}</p>`}</div></div>`}function Dt({answer:e,before:t}){let a=e.b.rows>0?"A has no rows.":e.a.rows===0?"Neither set has rows.":t?"The range before has no rows.":"B has no rows.";return s`<${S} title="There is nothing to compare."><p>${a} Drag over a part of the histogram to compare it with the rest, or write another search.</p><//>`}function At({field:e,answer:t,onOnly:a,onWithout:r}){let n=e.values.map(({value:c,a:u,b:d})=>({value:c,a:t.a.rows>0?u/t.a.rows:0,b:t.b.rows>0?d/t.b.rows:0})),o=e.kind==="numbers"?n:[...n].sort((c,u)=>Math.abs(u.a-u.b)-Math.abs(c.a-c.b)).slice(0,Rt),l=Math.max(1e-4,...o.flatMap(({a:c,b:u})=>[c,u])),i=c=>{let{value:u}=o[c];if(u===null)return be(e.name,"*",":").replace('"*"',"*");if(e.kind!=="numbers")return be(e.name,String(u));let d=o[c+1]?.value;return d===void 0?`${e.name}:>=${u}`:`${e.name}:${u}..${d}`};return s`<section class="card" data-ui="compare-field" aria-label=${e.name}><h3>${e.name}<small title="0: the same, 1: nothing in common">${e.score.toFixed(2)}</small></h3>
<ul>${o.map(({value:c,a:u,b:d},m)=>s`<li><button class="only" onClick=${()=>c===null?r(i(m)):a(i(m))} title=${`A ${le(u)}, B ${le(d)}; click: only these`}>${c===null?"no value":`${e.kind==="numbers"?"\u2265 ":""}${e.kind==="numbers"?Number(Number(c).toPrecision(4)):U(String(c).slice(0,60))}`}</button>
<span class="pair" aria-hidden="true"><i class="set-a" style=${{width:`${u/l*100}%`}}></i><i class="set-b" style=${{width:`${d/l*100}%`}}></i></span><small>${le(u)}<br />${le(d)}</small></li>`)}</ul></section>`}function le(e){return`${e>0&&e<.001?"< 0.1":(e*100).toFixed(1)} %`}var Ke={count:["Most",(e,t)=>t.count-e.count],rare:["Fewest",(e,t)=>e.count-t.count],new:["New",(e,t)=>+(e.before>0)-+(t.before>0)||t.count-e.count],growing:["Growing",(e,t)=>t.count/(t.before+1)-e.count/(e.before+1)]};function Nt({stores:e}){let{analysis:t,explore:a,prefs:r}=e,[n,o]=g("count"),l=a.range.value,i=a.state.value,c=a.fields.value.value?.fields??[],u=c.filter(y=>y.type==="String").map(y=>y.name),d=`${i.db}.${i.tables.join()}=`,m=r.patternFields.value.find(y=>y.startsWith(d))?.slice(d.length)??"",h=u.includes(m)?m:"",p=c.length>0&&h===""&&!c.some(y=>y.role==="message");v(()=>{l&&!p&&t.loadPatterns(h)},[l?.from,l?.to,i.q,h,p]);let k=y=>{r.patternFields.value=[d+y,...r.patternFields.value.filter(D=>!D.startsWith(d))]};if(p)return s`<${Pt} texts=${u} onChoose=${k} />`;let $=t.patterns.value.value,f=$?$.patterns.reduce((y,D)=>y+D.count,$.other):0,C=[...$?.patterns??[]].sort(Ke[n][1]);return s`<div class="subhead"><span class="quiet">${$&&`${$.exact?"":"\u2248 "}${b(f)} rows as ${b($.patterns.length)} patterns of`}</span>
${$&&s`<select aria-label="Text whose patterns are shown" value=${h||$.field} onChange=${y=>k(y.currentTarget.value)}>${[...new Set([$.field,...u])].map(y=>s`<option value=${y}>${y}</option>`)}</select>`}<span class="grow"></span>
<span role="group" aria-label="Order" class="orders">${Object.entries(Ke).map(([y,[D]])=>s`<button class="text" aria-pressed=${y===n} onClick=${()=>o(y)}>${D}</button>`)}</span></div>
<${x} latest=${t.patterns} what="Looking for patterns" />
${$&&$.patterns.length===0&&s`<${S} title="No row has this text."><p>Choose another field, or a longer range.</p><//>`}
<ul data-ui="patterns" class=${`patterns ${t.patterns.since.value&&$?"dim":""}`}>${C.map(y=>s`<${Lt} key=${y.pattern} pattern=${y} total=${f} zone=${r.zone.value} exact=${$?.exact!==!1}
onOnly=${()=>a.only(y.query,{view:"rows"})} onWithout=${()=>a.search(`${i.q} -(${y.query})`.trim())} />`)}</ul>
${$&&$.other>0&&s`<div class="foot"><span>${b($.other)} rows have none of these patterns</span></div>`}`}function Pt({texts:e,onChoose:t}){return e.length===0?s`<${S} title="There are no texts."><p>Patterns need a field with texts, and this table has none.</p><//>`:s`<${S} title="Which text?"><p>This table has no message field. Show the patterns of</p>
<p class="acts">${e.slice(0,20).map(a=>s`<button class="button" data-ui="pattern-field" onClick=${()=>t(a)}>${a}</button> `)}</p><//>`}function Lt({pattern:e,total:t,zone:a,exact:r,onOnly:n,onWithout:o}){let l=t>0?e.count/t*100:0,i=_e.find(u=>e.levels[u]>0&&De(u))??"",c=e.before===0?"new":`${b(e.before)} before`;return s`<li data-ui="pattern" class=${i}>
<span class="count">${r?"":"\u2248 "}${b(e.count)}<small>${l<.1?"< 0.1":l.toFixed(1)} %</small></span>
<${It} counts=${e.spark} level=${i} />
<button class="only" title=${e.example.text.slice(0,500)} onClick=${n}>${e.pattern.split("\u27E8*\u27E9").map((u,d)=>s`${d>0&&s`<i>⟨*⟩</i>`}${u}`)}</button>
<small class=${`wide ${e.before===0?"fresh":""}`}>${c}</small><small class="wide">since ${O(e.first,a).slice(5,16)}</small>
<button class="text not" aria-label=${`Hide rows like ${e.pattern.slice(0,60)}`} title="Hide these rows" onClick=${o}>−</button></li>`}function It({counts:e,level:t}){let a=Math.max(1,...e),r=e.map((n,o)=>n>0?`M${o*3+1} 18v-${Math.max(1,n/a*16).toFixed(1)}`:"").join("");return s`<svg class="spark" width="72" height="18" viewBox="0 0 72 18" aria-hidden="true"><path d=${r} stroke=${`var(--bar-${t||"info"})`} stroke-width="2" /></svg>`}function Y(e){let t=e.db==="public"?"":`db=${encodeURIComponent(e.db)}&`;return`${e.origin}/v1/ingest?${t}table=${encodeURIComponent(e.table)}&pipeline_name=${encodeURIComponent(e.pipeline)}`}function ie(e,t){return Y(e)+(e.pipeline===P?`&custom_time_index=${t}`:"")}var P="svc_identity";function de(e){return`${e.db==="public"?"":`--db ${e.db} `}--table ${e.table}${e.pipeline===P?"":` --pipeline ${e.pipeline}`}`}function ve(e){return e.user?`export CORDWOOD_USER=${ee(e.user)}:"$CORDWOOD_PASSWORD"
`:""}function Ye(e){let t=[["x-svc-log-table-name",e.table]];return e.db!=="public"&&t.push(["x-svc-db-name",e.db]),e.pipeline!==P&&t.push(["x-svc-pipeline-name",e.pipeline]),t}function H(e){return Ye(e).map(([t,a])=>`${t}: ${I(a)}`).join(", ")}function we(e){return Ye(e).map(([t,a])=>`"${t}" = "${a}"`).join(", ")}function I(e){return/^[a-z][\w.-]*$/i.test(e)&&!/^(null|true|false|yes|no|on|off|y|n)$/i.test(e)?e:JSON.stringify(e)}var qt={database:/^[A-Za-z_][\w.-]{0,127}$/,table:/^[A-Za-z_:-][\w:.@#-]{0,127}$/,pipeline:/^[\w.:-]{1,128}$/};function X({db:e,table:t,pipeline:a}){for(let[r,n]of[["database",e],["table",t],["pipeline",a]])if(!qt[r].test(n))return`\u201C${n}\u201D cannot be the name of a ${r}. Use letters, digits, and the characters _ . : -`;return""}function q(e){let t=new URL(e.origin);return{host:t.hostname,port:t.port||(t.protocol==="https:"?"443":"80"),secure:t.protocol==="https:"}}function ye(e,t){let a=e.split(`
`).find(r=>r.startsWith(`${t} = "`));return a?a.slice(t.length+4,a.lastIndexOf('"')):""}function ke(e,t,a){let{host:r,port:n,secure:o}=q(e);return`service:
  storage.path: /var/lib/fluent-bit
pipeline:
${t}
  outputs:
    - name: http
      match: '*'
      host: ${r}
      port: ${n}${o?`
      tls: on`:""}
      uri: ${ie(e,"date;datestr;%Y-%m-%dT%H:%M:%S%.fZ").slice(e.origin.length)}
      format: json_lines
      json_date_format: ${e.pipeline===P?"iso8601":a}
      compress: gzip
      retry_limit: no_limits
      storage.total_limit_size: 1G${e.user?`
      http_user: ${I(e.user)}
      http_passwd: \${CORDWOOD_PASSWORD}`:""}`}function xe(...e){return t=>{let a=[t.db!=="public"&&`db=${t.db}`,`table=${t.table}`,t.pipeline!==P&&`pipeline=${t.pipeline}`];return e.map(r=>`${r}?${a.filter(Boolean).join("&")}`).join(",")}}var Xe=[{id:"syslog",name:"syslog",file:"in a shell",note:"Set the same host and port in routers, switches and other devices.",port:{flag:"syslog-addr",text:xe("udp://0.0.0.0:5514","tcp://0.0.0.0:5514")},text:e=>`logger --server ${q(e).host} --port 5514 --tcp --octet-count --tag shop 'GET /cart 200'`},{id:"gelf",name:"GELF",file:"compose.yaml of Docker",port:{flag:"gelf-addr",text:xe("udp://0.0.0.0:12201","tcp://0.0.0.0:12201")},text:e=>`services:
  shop:
    image: shop
    logging:
      driver: gelf
      options:
        gelf-address: tcp://${q(e).host}:12201
        tag: shop`},{id:"forward",name:"Fluentd forward",file:"fluent-bit.yaml",note:"Fluentd and the libraries called fluent-logger send to the same port. Add table_by_tag=true to the address to name tables by the tags of records.",port:{flag:"forward-addr",text:xe("tcp://0.0.0.0:24224")},text:e=>`pipeline:
  outputs:
    - name: forward
      match: '*'
      host: ${q(e).host}
      port: 24224
      require_ack_response: true
      compress: gzip
      retry_limit: no_limits`},{id:"otlp-grpc",name:"OTLP by gRPC",file:"otelcol.yaml",note:"If the server has users, add the header authorization with Basic and the base64 of NAME:PASSWORD.",port:{flag:"otlp-grpc-addr",text:()=>"0.0.0.0:4317"},text:e=>`exporters:
  otlp:
    endpoint: ${q(e).host}:4317
    tls: {insecure: true}
    compression: zstd
    headers: {${H(e)}}
    retry_on_failure: {max_elapsed_time: 0}`}];var J=[{id:"curl",name:"curl",file:"in a shell",text:e=>`curl -X POST '${Y(e)}' \\
     ${e.user?`-u ${ee(e.user)}:"$CORDWOOD_PASSWORD" `:""}-H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"},{"level":"warn","took_ms":12.5}]'`},{id:"cordwood",name:"cordwood",file:"in a shell",note:"Sends a file, which may be compressed. If an answer is lost, it sends the batch again, and the batch is stored once.",text:e=>`${ve(e)}cordwood ingest --server ${e.origin} ${de(e)} app.ndjson.gz`},{id:"journald",name:"journald",file:"in a shell, or as a unit of systemd",text:e=>`${ve(e)}journalctl --output json --follow --since now |
  cordwood ingest --server ${e.origin} --forever ${de(e)}${e.pipeline===P?" --custom-time-index '__REALTIME_TIMESTAMP;epoch;us'":""} -`},{id:"vector",name:"Vector",file:"vector.yaml",text:e=>`sources:
  files:
    type: file
    include: [/var/log/app/*.log]
sinks:
  cordwood:
    type: http
    inputs: [files]
    uri: ${Y(e)}
    method: post
    encoding: {codec: json}
    compression: zstd
    batch: {max_bytes: 2000000, timeout_secs: 1}
    request: {concurrency: 4, retry_attempts: 1000000}
    buffer: {type: disk, max_size: 1073741824}
    acknowledgements: {enabled: true}
    healthcheck: {uri: ${e.origin}/health}${e.user?`
    auth: {strategy: basic, user: ${I(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}`},{id:"fluent-bit",name:"Fluent Bit",file:"fluent-bit.yaml",text:e=>ke(e,`  inputs:
    - {name: tail, path: /var/log/app/*.log, tag: app, db: /var/lib/fluent-bit/tail.db, storage.type: filesystem}`,"iso8601")},{id:"kubernetes",name:"Kubernetes",file:"fluent-bit.yaml of a DaemonSet of Fluent Bit",note:"Mount /var/log and /var/lib/fluent-bit of the machine, and give the service account the right to read pods.",text:e=>ke(e,`  inputs:
    - name: tail
      path: /var/log/containers/*.log
      multiline.parser: docker, cri
      tag: kube.*
      db: /var/lib/fluent-bit/tail.db
      storage.type: filesystem
  filters:
    - name: kubernetes
      match: kube.*`,"double")},{id:"fluentd",name:"Fluentd",file:"fluentd.conf",text:e=>`<filter app.**>
  @type record_transformer       # the time of the event is not in the record
  enable_ruby true
  <record>
    time \${(time.to_f * 1000).to_i}
  </record>
</filter>
<match app.**>
  @type http
  endpoint ${ie(e,"time;epoch;ms")}
  content_type application/x-ndjson
  retryable_response_codes 408,429,503${e.user?`
  <auth>
    method basic
    username ${e.user}
    password "#{ENV['CORDWOOD_PASSWORD']}"
  </auth>`:""}
  <format>
    @type json
  </format>
  <buffer>
    @type file
    path /var/lib/fluentd/cordwood
    chunk_limit_size 2m
    flush_interval 1s
    flush_thread_count 4
    retry_forever true
    retry_max_interval 30s
  </buffer>
</match>`},{id:"logstash",name:"Logstash",file:"a file of pipeline.conf",note:"Set queue.type: persisted in logstash.yml, so that nothing is lost when Logstash stops.",text:e=>`output {
  http {
    url => "${ie(e,"@timestamp;datestr;%25Y-%25m-%25dT%25H:%25M:%25S%25.fZ")}"
    http_method => "post"
    format => "json_batch"
    http_compression => true
    retry_failed => true
    retryable_codes => [408, 429, 500, 502, 503, 504]${e.user?`
    user => "${e.user}"
    password => "\${CORDWOOD_PASSWORD}"`:""}
  }
}`},{id:"syslog-ng",name:"syslog-ng",file:"syslog-ng.conf",text:e=>`source s_local { system(); internal(); };
destination d_cordwood {
  http(
    url("${Y(e)}")${e.user?`
    user("${e.user}") password("\`CORDWOOD_PASSWORD\`")`:""}
    method("POST") headers("Content-Type: application/x-ndjson")
    body("$(format-json --scope rfc5424 --key ISODATE)") delimiter("\\n")
    batch-lines(1000) batch-timeout(1000) workers(2) persist-name("cordwood")
    disk-buffer(reliable(yes) disk-buf-size(1073741824) mem-buf-size(16777216))
    retries(1000000)
  );
};
log { source(s_local); destination(d_cordwood); flags(flow-control); };`},{id:"rsyslog",name:"rsyslog",file:"rsyslog.conf",note:"If the server has users, add --user NAME:PASSWORD to the command, and let only root read the file.",text:e=>`module(load="omprog")
template(name="ndjson" type="list" option.jsonf="on") {
  property(outname="time" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="program" name="programname" format="jsonf")
  property(outname="severity" name="syslogseverity-text" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
}
action(type="omprog" template="ndjson" name="cordwood" output="/var/log/cordwood-ingest.log"
       binary="/usr/bin/cordwood ingest --server ${e.origin} --forever --format ndjson ${de(e)} -"
       queue.type="LinkedList" queue.filename="cordwood" queue.maxDiskSpace="1g" queue.saveOnShutdown="on"
       action.resumeRetryCount="-1")`},{id:"opentelemetry",name:"OpenTelemetry Collector",file:"otelcol.yaml",text:e=>`extensions:
  file_storage: {directory: /var/lib/otelcol, create_directory: true}${e.user?`
  basicauth: {client_auth: {username: ${I(e.user)}, password: "\${env:CORDWOOD_PASSWORD}"}}`:""}
receivers:
  filelog: {include: [/var/log/app/*.log], storage: file_storage}
exporters:
  otlphttp:
    endpoint: ${e.origin}${e.user?`
    auth: {authenticator: basicauth}`:""}
    compression: zstd
    headers: {${H(e)}}
    sending_queue:
      storage: file_storage
      batch: {flush_timeout: 1s, min_size: 1000, max_size: 5000, sizer: items}
    retry_on_failure: {max_elapsed_time: 0}
service:
  extensions:
    - file_storage${e.user?`
    - basicauth`:""}
  pipelines:
    logs: {receivers: [filelog], exporters: [otlphttp]}`},{id:"alloy",name:"Grafana Alloy",file:"config.alloy",text:e=>`loki.write "cordwood" {
  endpoint {
    url                 = "${e.origin}/loki/api/v1/push"
    headers             = {${we(e)}}
    max_backoff_retries = 0${e.user?`
    basic_auth {
      username = ${JSON.stringify(e.user)}
      password = sys.env("CORDWOOD_PASSWORD")
    }`:""}
  }
}
local.file_match "app" { path_targets = [{"__path__" = "/var/log/app/*.log", "app" = "shop"}] }
loki.source.file "app" {
  targets    = local.file_match.app.targets
  forward_to = [loki.write.cordwood.receiver]
}`},{id:"promtail",name:"Promtail",file:"promtail.yaml",note:"Start Promtail with -config.expand-env=true, so that it reads variables.",text:e=>`clients:
  - url: ${e.origin}/loki/api/v1/push
    backoff_config: {max_retries: 0}
    headers: {${H(e)}}${e.user?`
    basic_auth: {username: ${I(e.user)}, password: "\${CORDWOOD_PASSWORD}"}`:""}
positions: {filename: /var/lib/promtail/positions.yaml}
scrape_configs:
  - job_name: app
    static_configs:
      - targets: [localhost]
        labels: {app: shop, __path__: /var/log/app/*.log}`},{id:"filebeat",name:"Filebeat",file:"filebeat.yml",text:e=>{let{host:t,port:a,secure:r}=q(e);return`filebeat.inputs:
  - {type: filestream, id: app, paths: [/var/log/app/*.log]}
output.elasticsearch:
  hosts: ["${r?"https":"http"}://${t}:${a}/v1/elasticsearch"]${e.user?`
  username: ${I(e.user)}
  password: "\${CORDWOOD_PASSWORD}"`:""}
  headers: {${H(e)}, x-svc-hints: on_type_conflict=aside}
setup.ilm.enabled: false
setup.template.enabled: false`}},{id:"telegraf",name:"Telegraf",file:"telegraf.conf",note:"Telegraf keeps 10,000 records in memory while the server is down. Set metric_buffer_limit for more.",text:e=>`[[outputs.loki]]
  domain = "${e.origin}"
  endpoint = "/loki/api/v1/push"
  gzip_request = true
  http_headers = {${we(e)}}${e.user?`
  username = ${JSON.stringify(e.user)}
  password = "\${CORDWOOD_PASSWORD}"`:""}`},{id:"docker",name:"Docker",file:"compose.yaml",lacks:e=>e.db==="public"&&e.pipeline===P?"":"Docker\u2019s driver cannot set a database or a pipeline. Use the database public and the pipeline svc_identity, or send by another sender.",text:e=>`services:
  shop:
    image: shop
    logging:
      driver: splunk
      options:
        splunk-url: ${e.origin}
        splunk-url-path: /v1/splunk/services/collector/event/1.0
        splunk-token: ${e.user?JSON.stringify(`${e.user}:\${CORDWOOD_PASSWORD}`):"none"}
        splunk-index: ${I(e.table)}
        splunk-format: json`},...Xe];var Mt={db:null,t:null,pipeline:null,sender:e=>J.some(t=>t.id===e)};function jt({stores:e}){let{adding:t,place:a,signIn:r}=e,n=a.here.value.params,o=J.find(p=>p.id===n.get("sender"))??J[0],[l,i,c]=[n.get("db")||"public",n.get("t")||"app",n.get("pipeline")||"svc_identity"];_(a.page.value==="add"?L(n,Mt):[]),v(()=>{document.title="Add data \xB7 cordwood"},[]),v(()=>{let p=setTimeout(()=>{t.follow(l,i)},300);return()=>{clearTimeout(p),t.stop()}},[l,i]);let u=p=>a.set("add",{sender:o.id,t:i,db:l,pipeline:c,...p},{sender:"curl",t:"app",db:"public",pipeline:"svc_identity"},{replace:!0}),d=X({db:l,table:i,pipeline:c})||o.lacks?.({db:l,table:i,pipeline:c})||"",m=oe(r,X({db:l,table:i,pipeline:c})?[]:[["INSERT",re(l,i)]])?.[0]!==!1,h=d?"":o.text({origin:location.origin,db:l,table:i,pipeline:c,user:r.user.value});return s`<div class="scrolled add"><div class="state"><h1>Add data</h1>
<span class="quiet">The first rows create the table, with a column for each field.</span></div>
${!m&&s`<p class="wrong none" data-ui="may-not">Your user may not store rows in ${i}: senders need another user, or a token that may.</p>`}
<div class="asked-for">
<label>Table<input data-ui="add-table" value=${i} onInput=${p=>u({t:Je(p)})} /></label>
<label>Pipeline<input list="pipelines" value=${c} onInput=${p=>u({pipeline:Je(p)})} /></label>
<${Ut} api=${e.api} />
</div>
<nav class="senders" aria-label="Senders">${J.map(p=>s`<button class="text" aria-pressed=${p===o} data-ui=${`sender-${p.id}`} onClick=${()=>u({sender:p.id})}>${p.name}</button>`)}</nav>
${o.port&&!d&&s`<${Wt} api=${e.api} flag=${o.port.flag} value=${o.port.text({origin:location.origin,db:l,table:i,pipeline:c,user:""})} />`}
<section class="snippet" aria-label=${o.name}><div class="head"><h2>${o.name}</h2><span class="quiet">${o.file}</span><span class="grow"></span>
${!d&&s`<button class="button" onClick=${()=>R(h)}>Copy</button>`}</div>
${d?s`<p class="wrong" role="alert" data-ui="wrong-name">${d}</p>`:s`<pre data-ui="snippet" tabindex="0">${h}</pre>`}
${o.note&&s`<p class="quiet none">${o.note}</p>`}
${r.user.value&&s`<p class="quiet none">Set the variable CORDWOOD_PASSWORD to ${r.session.value?.auth==="token"?"a token that may store rows":`the password of ${r.user.value}`}.</p>`}</section>
${m&&!X({db:l,table:i,pipeline:c})&&s`<${Ft} adding=${t} to=${{db:l,table:i,pipeline:c}} />`}
<${Bt} stores=${e} db=${l} table=${i} />
<${Vt} key=${`${l}.${i}`} stores=${e} db=${l} table=${i} />
</div>`}function Wt({api:e,flag:t,value:a}){let[r,n]=g("");v(()=>{e.send({path:"/config",need:["MONITOR","CLUSTER"]}).then(async i=>n(await i.text()),()=>{})},[]);let o=ye(r,t),l=`cordwood serve --${t} ${j(a)}`;return s`<section class="snippet" aria-label="On the server" data-ui="server-port"><div class="head"><h2>On the server</h2><span class="quiet">${o?`It listens at ${o}. The address says of which table and pipeline.`:"Start the server with this flag to use this protocol."}</span><span class="grow"></span>
<button class="button" onClick=${()=>R(l)}>Copy</button></div><pre tabindex="0">${l}</pre></section>`}function Je(e){return e.currentTarget.value.trim()}function Ut({api:e}){let[t,a]=g([]);return v(()=>{e.json({path:"/v1/pipelines"}).then(r=>a(r.pipelines.map(n=>n.name)),()=>{})},[]),s`<datalist id="pipelines">${["svc_identity",...new Set(t)].map(r=>s`<option value=${r}></option>`)}</datalist>`}function Ft({adding:e,to:t}){let[a,r]=g(!1),n=Oe(null),o=i=>i?.[0]&&void e.send(i[0],t),l=e.sending.value;return s`<section class=${`drop ${a?"over":""}`} aria-label="Send a file" data-ui="drop"
onDragOver=${i=>{i.preventDefault(),r(!0)}}
onDragLeave=${()=>r(!1)}
onDrop=${i=>{i.preventDefault(),r(!1),o(i.dataTransfer?.files)}}>
<p>Or drop a file of lines or NDJSON here. <button class="text go" onClick=${()=>n.current?.click()}>Choose a file</button>
<input ref=${n} type="file" class="hidden" data-ui="file" tabindex="-1" aria-label="File" onChange=${i=>{let c=i.currentTarget;o(c.files),c.value=""}} /></p>
${l&&s`<p role="status">${l.name}: ${w(l.sent)} of ${w(l.size)}, ${b(l.rows)} ${l.rows===1?"row":"rows"} stored${l.done?l.error?`. ${l.error}`:", done.":"\u2026"} ${!l.done&&s`<button class="text go" data-ui="cancel" onClick=${e.cancel}>Cancel</button>`}</p>
<div class="bar" style=${{"--p":`${l.size>0?l.sent/l.size*100:100}%`}}></div>
${l.refused>0&&s`<p class="wrong">${b(l.refused)} ${l.refused===1?"record was":"records were"} refused${l.refused>l.reasons.length&&", for example"}:</p>`}
${l.reasons.map(i=>s`<p class="wrong">${U(i)}</p>`)}`}
</section>`}function Bt({stores:e,db:t,table:a}){let{adding:r,api:n,prefs:o}=e,l=B(),[i]=g(()=>z(G)),c=r.rows.value,u=c.length>0;if(v(()=>{u&&i.run(m=>n.json({path:"/v1/explore/fields",body:{db:t,tables:[a]},signal:m}))},[u,t,a]),!u)return s`<section class="first" aria-live="polite" data-ui="first-row"><${Kt} table=${a} /></section>`;let d=i.value.value;return s`<section class="first pane" aria-live="polite" data-ui="first-row">
<div class="head"><h2>${b(r.count.value)} ${r.count.value===1?"row":"rows"} arrived in ${a}</h2>
<span class="quiet">${d&&`${d.fields.length} fields: ${d.fields.map(m=>m.name).join(", ")}`}</span><span class="grow"></span>
<a class="button main" href=${A("explore",{db:t,t:a},{db:"public"})}>Open in Explore</a></div>
<${ne} count=${c.length} at=${m=>c[m]} shape=${He(d)} columns=${[]} marks=${null} zone=${o.zone.value}
density=${o.density.value} narrow=${l} label=${`${c.length} rows, newest last`} selected="" follow onOpen=${()=>{}} /></section>`}var zt=10,Gt=3e3,Ht=6e4;function Vt({stores:e,db:t,table:a}){let[r]=g(()=>z(G));v(()=>{let o=Date.now()-Ht,l=()=>document.visibilityState==="visible"&&void r.run(c=>e.rejects.newest({db:t,table:a,since:o},c));l();let i=setInterval(l,Gt);return()=>{clearInterval(i),r.cancel()}},[t,a]);let n=r.value.value??[];return n.length===0?null:s`<section class="first" aria-live="polite" data-ui="first-reject"><div class="head"><h2>${n.length===5?"Newest rejected records":`${b(n.length)} rejected ${n.length===1?"record":"records"}`}</h2><span class="grow"></span>
<a class="text" href=${A("rejects",{t:a})}>All rejects of ${a}</a></div>
<${Ge} stores=${e} rejects=${n} /></section>`}function Kt({table:e}){let[t]=g(Date.now()),a=K(1e3),r=Math.floor((a-t)/1e3);return s`<p><span class="dot waiting"></span> Waiting for the first row in <b class="mono">${e}</b>… ${r} s</p>
${r>=zt&&s`<p class="quiet" data-ui="first-help">Nothing has arrived. Look at the answer that the sender gets: the server says there why it refuses a request. With <b class="mono">skip_error=true&on_reject=store</b> in the address, it keeps refused records, and they are shown here.</p>`}`}var M=()=>"",Z={name:"node",label:"Node",kind:"node"},Ze={name:"force",label:"Also if the metadata group then survives the loss of fewer nodes",kind:"check"},ce={name:"shard",label:"Shard",kind:"shard"},Q=[{id:"drain",name:"Drain a node\u2026",group:"nodes",says:"All replicas and leaders move to other nodes, and the node gets nothing new until it is undrained. For a restart only leaders move: the node keeps its replicas.",asks:[Z,{name:"restart",label:"For a restart: move leaders only",kind:"check"}],word:M,request:e=>({kind:"node-drain",node:e.node,for_restart:e.restart==="yes"})},{id:"undrain",name:"Undrain a node\u2026",group:"nodes",says:"The node takes part again. A running drain ends.",asks:[Z],word:M,request:e=>({kind:"node-undrain",node:e.node})},{id:"decommission",name:"Decommission a node\u2026",group:"nodes",says:"All replicas move away for good, and the node leaves the metadata group. If it does not answer, its replicas are rebuilt from other nodes.",asks:[Z,Ze],word:e=>e.node,request:e=>({kind:"node-decommission",node:e.node,force:e.force==="yes"})},{id:"remove",name:"Forget a node\u2026",group:"nodes",says:"The cluster forgets a stopped node without replicas. It can only return with an empty data folder.",asks:[Z,Ze],word:e=>e.node,request:e=>({kind:"node-remove",node:e.node,force:e.force==="yes"})},{id:"shard-add",name:"Add shards\u2026",group:"shards",says:"New shards are created on the nodes with the least data. New tables use them; existing tables stay.",asks:[{name:"count",label:"How many",kind:"number"}],word:M,request:e=>({kind:"shard-add",count:Number(e.count)})},{id:"shard-move",name:"Move a replica\u2026",group:"shards",says:"A replica is copied to the other node, catches up, and then takes the place of the old one. Queries and writes continue meanwhile.",asks:[ce,{name:"from",label:"From",kind:"node"},{name:"to",label:"To",kind:"node"}],word:M,request:e=>({kind:"shard-move",shard:Number(e.shard),from:e.from,to:e.to})},{id:"replicas",name:"Change replicas\u2026",group:"shards",says:"The shard gets this number of replicas, each on a different node.",asks:[ce,{name:"replicas",label:"Replicas",kind:"number"}],word:M,request:e=>({kind:"replica-change",shard:Number(e.shard),replicas:Number(e.replicas)})},{id:"rebuild",name:"Rebuild a replica\u2026",group:"shards",says:"The replica is discarded and rebuilt from the others.",asks:[ce,Z],word:M,request:e=>({kind:"replica-rebuild",shard:Number(e.shard),node:e.node})},{id:"shard-remove",name:"Remove a shard\u2026",group:"shards",says:"Its tables move to other shards with their rows, two at a time; then the shard is removed.",asks:[ce],word:e=>e.shard?`shard ${e.shard}`:"",request:e=>({kind:"shard-remove",shard:Number(e.shard)})},{id:"table-move",name:"Move a table\u2026",group:"shards",says:"The other shards take the writes of the table. Existing rows stay, unless they are moved too.",asks:[{name:"table",label:"Table",kind:"table"},{name:"shards",label:"To the shards",kind:"shards",note:"like 2, 3"},{name:"rows",label:"Move the rows too",kind:"check"}],word:M,request:e=>({kind:"table-move",table:e.table,to_shards:Yt(e.shards),with_rows:e.rows==="yes"})},{id:"partition",name:"Partition a table\u2026",group:"shards",says:"The table is written to this number of shards.",asks:[{name:"table",label:"Table",kind:"table"},{name:"partitions",label:"Shards",kind:"number"},{name:"rows",label:"Distribute existing rows too",kind:"check"}],word:M,request:e=>({kind:"table-partition",table:e.table,partitions:Number(e.partitions),with_rows:e.rows==="yes"})}];function Yt(e){return e.split(/[\s,]+/).filter(t=>t!=="").map(Number)}var Xt={"node-add":()=>({name:"Add a node\u2026",act:"add-node",given:{}}),"node-undrain":({node:e=""})=>({name:`Undrain ${e}\u2026`,act:"undrain",given:{node:e}}),"node-decommission":({node:e=""})=>({name:`Decommission ${e}\u2026`,act:"decommission",given:{node:e}}),"node-remove":({node:e=""})=>({name:`Forget ${e}\u2026`,act:"remove",given:{node:e}}),"shard-move":({node:e="",shard:t})=>({name:"Move a replica\u2026",act:"shard-move",given:{from:e,shard:t?String(t):""}}),"replica-rebuild":({node:e="",shard:t})=>({name:"Rebuild the replica\u2026",act:"rebuild",given:{node:e,shard:String(t??"")}}),rebalance:()=>({name:"Rebalance\u2026",act:"rebalance",given:{}}),"rebalance-resume":()=>({name:"Resume rebalancing\u2026",act:"rebalance",given:{}}),cancel:({operation:e})=>({name:`Cancel operation ${e}`,act:"cancel",given:{operation:String(e??"")}})};function Qe({actions:e=[]}){return e.flatMap(t=>Xt[t.kind]?.(t)??[])}function et({id:e,given:t,state:a,stores:r,onClose:n}){let{operations:o,health:l,tables:i}=r,c=Q.find(f=>f.id===e),[u,d]=g({count:"1",replicas:String(a.replication),partitions:"2",...t});he(()=>o.clear(),[]);let m=o.asks.value,h=o.start.value.value,p=m||c.word(u);async function k(){if(o.start.since.value>0)return;let f=c.request(u);await o.begin(m?{...f,confirm:m}:f)&&(W(o.start.value.value?.message||"The operation has started."),n(),await l.load())}let $=f=>C=>d({...u,[f]:C});return s`<${te} key=${m} title=${c.name.replace("\u2026","")} word=${p} action="Begin" busy=${o.start.since.value>0} onYes=${k} onClose=${n}>
<p>${c.says}</p>
${c.asks.map(f=>s`<label class=${f.kind==="check"?"check":""}>${f.kind!=="check"&&f.label}<${Zt} asked=${f} value=${u[f.name]??""} state=${a} tables=${i.all.value} onValue=${$(f.name)} />${f.kind==="check"&&f.label}</label>`)}
<${Jt} values=${u} state=${a} tables=${i.all.value} />
${m&&h?.message&&s`<p class="wrong" role="alert">${h.message}</p>`}
<${x} latest=${o.start} what="Beginning it" inForm /><//>`}function Jt({values:e,state:t,tables:a}){let r=t.nodes.find(i=>i.name===(e.shard?"":e.node)),n=t.shards.find(i=>String(i.id)===e.shard),o=a.find(i=>`${i.db}.${i.name}`===e.table),l=n?`Shard ${n.id} has ${w(n.bytes)} on disk.`:r?`${r.name} has ${r.replicas} replicas with ${w(r.bytes)}, and leads ${r.leads} shards.`:o?`${e.table} has ${w(o.bytes)}.`:"";return l&&s`<p class="quiet">${l}</p>`}function Zt({asked:e,value:t,state:a,tables:r,onValue:n}){let o=c=>n(c.currentTarget.value),l=`act-${e.name}`;if(e.kind==="check")return s`<input type="checkbox" data-ui=${l} checked=${t==="yes"} onChange=${()=>n(t==="yes"?"":"yes")} />`;if(e.kind==="number")return s`<input type="number" data-ui=${l} required min="1" max="64" value=${t} onInput=${o} />`;if(e.kind==="shards")return s`<input required data-ui=${l} placeholder=${e.note} pattern="[0-9]+([ ,]+[0-9]+)*" value=${t} onInput=${o} />`;let i={node:()=>a.nodes.map(c=>c.name),shard:()=>a.shards.map(c=>String(c.id)),table:()=>r.filter(c=>c.db!=="svc_private").map(c=>`${c.db}.${c.name}`)}[e.kind]();return s`<select required data-ui=${l} value=${t} onChange=${o}><option value="">Choose</option>${i.map(c=>s`<option value=${c}>${c}</option>`)}</select>`}function tt({state:e,onClose:t}){let[a]=g(()=>new Set(e.nodes.map(l=>l.id))),r=e.nodes.filter(l=>!a.has(l.id)),o=["cordwood serve --node-name NAME --data-dir /var/lib/cordwood","--rpc-addr 0.0.0.0:4001 --advertise-addr ADDRESS:4001 --http-addr 0.0.0.0:4000",`--cluster-secret-file cluster-secret --seeds ${e.nodes.map(l=>l.rpc_addr).join(",")}`].join(` \\
  `);return s`<${V} title="Add a node" onClose=${t}><div class="asks">
<p>Start cordwood on another machine, with the cluster secret of these nodes, its own name, and the address at which the other nodes reach it.</p>
<pre class="asked">${o}</pre>
<p role="status" data-ui="joined">${r.length===0?s`<span class="dot waiting"></span> Waiting for it to join…`:`${r.map(l=>l.name).join(", ")} joined.`}</p>
<p class="acts"><button class="button main" onClick=${()=>R(o)}>Copy</button><button class="button" onClick=${t}>Close</button></p></div><//>`}function at({stores:e,onClose:t}){let{operations:a,health:r}=e;he(()=>{a.clear(),a.loadPlan()},[]);let n=a.plan.value.value;async function o(l){a.start.since.value>0||await a.begin({kind:l})&&(W(a.start.value.value?.message||"Started."),await r.load(),t())}return s`<${V} title="Rebalance" onClose=${t}><div class="asks">
<${x} latest=${a.plan} what="Asking for the plan" />
${!n&&!a.plan.error.value&&s`<p class="quiet" role="status">Asking what would move…</p>`}
${n&&n.moves.length===0&&s`<p>Nothing would move: ${(n.even||"the nodes are even").replace(/\.$/,"")}.</p>`}
${n&&n.moves.length>0&&s`<p>${n.moves.length} replicas would move, ${w(n.moves.reduce((l,i)=>l+i.bytes,0))}.</p>
<div class="wide-table"><table><thead><tr><th>shard</th><th>from</th><th>to</th><th class="r">bytes</th><th>why</th></tr></thead><tbody>${n.moves.map(l=>s`<tr><td>${l.shard}</td><td>${l.from}</td><td>${l.to}</td><td class="r">${w(l.bytes)}</td><td>${l.reason}</td></tr>`)}</tbody></table></div>`}
${n?.blocked.map(l=>s`<p class="wrong">${l}</p>`)}
<${x} latest=${a.start} what="Beginning it" />
<p class="acts"><button class="button main" data-ui="confirm" disabled=${!n||n.moves.length===0} onClick=${()=>o("rebalance")}>Begin</button>
${n&&s`<button class="button" data-ui="pause" onClick=${()=>o(n.paused?"rebalance-resume":"rebalance-pause")}>${n.paused?"Resume it":"Pause it"}</button>`}
<button class="button" onClick=${t}>Close</button></p></div><//>`}function st({health:e,failure_tolerance:t,limited_by:a}){return t<0?a?`Too much has failed: ${a} does not work.`:"Something does not work.":e==="starting"?"The first shards are being created.":t===0?`No ${e==="ok"?"":"further "}node may fail: ${a} would stop.`:`Any ${t===1?"node":`${t} nodes`} may fail.`}function nt(e,t,a){let r=e.requested_by&&`requested by ${e.requested_by==="cluster"?"the cluster":e.requested_by}`;if(e.state!=="running"){let o=e.ended??e.updated,l=Date.parse(o)-Date.parse(e.created);return[`${e.state} ${Qt(o,t,a)}`,l>=1e3&&`took ${E(l)}`,e.reason,r].filter(Boolean).join(" \xB7 ")}let n=e.total_bytes>0&&`${w(e.done_bytes)} of ${w(e.total_bytes)}`;return[`step ${e.step}`,n,e.eta_seconds&&`${E(e.eta_seconds*1e3)} left`,e.reason,r].filter(Boolean).join(" \xB7 ")}function Qt(e,t,a){let r=Math.max(0,t-Date.parse(e));return r<1e3?"just now":r<864e5?`${E(r)} ago`:`at ${O(e,a)} (${a})`}function ot(e){let t=e.to_shards?.length?` to shards ${e.to_shards.join(", ")}`:"";switch(e.kind){case"shard-move":return`Move shard ${e.shard}${e.from?` from ${e.from}`:""}${e.to?` to ${e.to}`:""}`;case"replica-change":return`Give shard ${e.shard} ${e.replicas} replicas`;case"replica-rebuild":return`Rebuild the replica of shard ${e.shard}${e.node?` on ${e.node}`:""}`;case"table-move":return`Move table ${e.table}${t}`;case"table-partition":return`Partition table ${e.table}${t}`;case"shard-add":return"Add shards";case"shard-remove":return`Remove shard ${e.shard}`;case"rebalance":return"Rebalance";case"node-drain":case"node-undrain":case"node-decommission":case"node-remove":return`${{"node-drain":"Drain","node-undrain":"Undrain","node-decommission":"Decommission","node-remove":"Forget"}[e.kind]} ${e.subject.replace(/^node /,"")}`;default:return`${e.kind.replaceAll("-"," ")} ${e.subject}`.replace(/^./,a=>a.toUpperCase())}}function rt(e){if(e.length<2)return e;let[t,...a]=e,r=0;for(;r<t.length&&a.every(o=>o[r]===t[r]);)r++;let n=Math.max(t.lastIndexOf("-",r-1),t.lastIndexOf(".",r-1))+1;return n<4?e:e.map(o=>`\u2026${o.slice(n)}`)}function lt({operations:e,stores:t,may:a}){let{cancelling:r}=t.operations,n=K(1e3),o=t.prefs.zone.value;return s`<${x} latest=${r} what="Cancelling" />
${e.length===0&&s`<p class="quiet none">No operation is running or stored.</p>`}
<ul class="ops">${e.map(l=>{let i=l.state==="running";return s`<li data-ui="operation" data-state=${l.state} key=${l.id}><h3>${ot(l)}${i&&a&&s`<${ea} operation=${l} stores=${t} />`}</h3>
${i&&l.total_bytes>0&&s`<div class="bar" style=${{"--p":`${l.done_bytes/l.total_bytes*100}%`}}></div>`}<p>${nt(l,n,o)}</p></li>`})}</ul>`}function ea({operation:e,stores:t}){return e.cancel?s`<span class="text">being cancelled</span>`:s`<button class="text" data-ui="cancel" onClick=${()=>t.operations.cancel(e.id).then(()=>t.health.load())}>Cancel</button>`}function it({stores:e}){let t=Math.floor((K(1e3)-e.health.answered.value)/1e3);return s`<span class="quiet" data-ui="refreshed">refreshed ${t<1?"just now":`${t} s ago`}</span>`}function dt(e){let t=()=>ta(e.querySelector(".panel"),e.getBoundingClientRect());return t(),addEventListener("scroll",t,!0),addEventListener("resize",t),()=>{removeEventListener("scroll",t,!0),removeEventListener("resize",t)}}function ta(e,t){e.style.position="fixed";let{width:a,height:r}=e.getBoundingClientRect(),{clientWidth:n,clientHeight:o}=document.documentElement,l=t.bottom+4,i=l+r+12>o?Math.max(12,t.top-r-4):l,c=Math.max(12,Math.min(t.left,n-a-12));Object.assign(e.style,{top:`${i}px`,left:`${c}px`,right:"auto"})}function ct({nodes:e}){return s`<div class="wide-table" tabindex="0" role="region" aria-label="Nodes"><table><thead><tr><th>node</th><th>state</th><th class="opt">roles</th><th class="opt">metadata</th><th>disk</th><th class="r opt">of</th><th class="r">replicas</th><th class="r">leads</th><th class="r opt">bytes</th><th class="opt">version</th></tr></thead>
<tbody>${e.map(t=>s`<${sa} key=${t.id} node=${t} />`)}</tbody></table></div>`}var aa=85;function sa({node:e}){let t=e.disk_capacity>0?e.disk_used/e.disk_capacity*100:0,a=["down","silent","stopped"].includes(e.state)&&` for ${E(e.silent_seconds*1e3)}`;return s`<tr data-ui="node"><td>${e.name}</td>
<td><span class=${e.state==="up"?"ok":"bad"}>${e.state}</span>${a}</td>
<td class="opt">${e.roles.join(" ")}</td><td class="opt">${e.meta}</td>
<td>${e.disk_capacity>0&&s`<span class=${`disk ${t>aa?"full":""}`} style=${{"--p":`${t.toFixed(0)}%`}}></span><span title=${`${w(e.disk_used)} of ${w(e.disk_capacity)}`}>${t.toFixed(0)} %</span>`}</td>
<td class="r opt">${e.disk_capacity>0&&w(e.disk_capacity)}</td><td class="r">${b(e.replicas)}</td><td class="r">${b(e.leads)}</td>
<td class="r opt">${w(e.bytes??0)}</td><td class="opt">${e.version}</td></tr>`}function ut({state:e,onDo:t}){let a=e.nodes.filter(n=>n.roles.includes("shard")),r=rt(a.map(n=>n.name));return s`<div class="wide-table"><table class="matrix"><thead><tr><th>shard</th>${a.map((n,o)=>s`<th title=${n.name}>${r[o]}</th>`)}<th class="r opt">lag</th><th class="r opt">on disk</th><th>state</th></tr></thead>
<tbody>${e.shards.map(n=>s`<tr key=${n.id}><td>shard ${n.id}</td>${a.map(o=>{let[l,i,c]=oa(n,o),u=`shard ${n.id} on ${o.name}: ${i}`;return s`<td class=${c} data-ui="shard-cell" title=${u}>${t&&l!=="\xB7"?s`<${na} letter=${l} says=${u} shard=${String(n.id)} node=${o.name} onDo=${t} />`:l}</td>`})}<td class="r opt">${b(n.lag)}</td><td class="r opt">${w(n.bytes)}</td><td><span class=${n.state==="ok"?"":"bad"}>${n.state}</span></td></tr>`)}</tbody></table></div>`}function na({letter:e,says:t,shard:a,node:r,onDo:n}){return s`<${F} button=${s`<span aria-hidden="true">${e}</span><span class="hidden">${t}</span>`} label=${t} class="cell" place=${dt}>${o=>{let l=(i,c)=>{o(),n(i,c)};return s`<p class="quiet">${t}</p><button class="choice" data-ui="cell-move" onClick=${()=>l("shard-move",{shard:a,from:r})}>Move to another node…</button>
<button class="choice" data-ui="cell-rebuild" onClick=${()=>l("rebuild",{shard:a,node:r})}>Rebuild…</button>`}}<//>`}function oa(e,{name:t,state:a}){return(e.replicas.includes(t)||e.learners.includes(t))&&(a==="down"||a==="lost")?["!","has a replica, and does not answer","x"]:e.unready.includes(t)?["!","has a replica that cannot be used","x"]:e.leader===t?["L","leads","L"]:e.learners.includes(t)?["c","is catching up","c"]:e.replicas.includes(t)?["r","has a replica","p"]:["\xB7","has none",""]}function ra({stores:e}){let{health:t,signIn:a,operations:r,place:n}=e;_(n.page.value==="cluster"?L(n.here.value.params,{}):[]),v(()=>{document.title="Cluster \xB7 cordwood";let p=()=>{document.visibilityState==="visible"&&(t.load(),r.loadList())};r.loadList();let k=setInterval(p,2e3);return()=>clearInterval(k)},[t]);let[o,l]=g({id:"",given:{}}),i=t.value.value;if(!i)return s`<h1 class="hidden">Cluster</h1><${x} latest=${t} what="Asking for the state of the cluster" />`;let c=i.health==="ok",u=t.error.value!==null,d=a.canManage.value,m=((p,k={})=>{p==="cancel"?r.cancel(Number(k.operation)).then(()=>t.load()):l({id:p,given:k})}),h=()=>l({id:"",given:{}});return s`<div class="scrolled">
<div class="state"><h1>${u?"The state of the cluster is not known":c?"The cluster is healthy":s`The cluster is <i class=${i.health}>${i.health}</i>`}</h1>
<span class="quiet" data-ui=${u?"known-since":"tolerance"}>${u?`What follows was so at ${se(t.answered.value,e.prefs.zone.value).time} (${e.prefs.zone.value}).`:st(i)}</span></div>
<${x} latest=${t} what="Asking for the state of the cluster" />
${i.problems.map(p=>s`<${la} problem=${p} onDo=${d?m:null} />`)}
<div class="cols"><section class="pane" aria-label="Nodes and shards">
<h2 class="head">Nodes<span class="grow"></span>${d&&s`<${pt} group="nodes" first=${{"add-node":"Add a node\u2026",drain:"Drain a node\u2026"}} onDo=${m} />`}</h2>
<${ct} nodes=${i.nodes} />
<h2 class="head">Shards<span class="grow"></span><span class="quiet wide">L leads, r replica, c catching up, ! does not answer</span>${d&&s`<${pt} group="shards" first=${{"shard-move":"Move a replica\u2026",rebalance:"Rebalance\u2026"}} onDo=${m} />`}</h2>
<${ut} state=${i} onDo=${d?m:null} /></section>
<section class="pane" aria-label="Operations"><h2 class="head">Operations<span class="grow"></span><${it} stores=${e} /></h2>
<${lt} operations=${r.list.value.value??i.operations} stores=${e} may=${d} /></section>
</div></div>
${o.id==="add-node"&&s`<${tt} state=${i} onClose=${h} />`}
${o.id==="rebalance"&&s`<${at} stores=${e} onClose=${h} />`}
${Q.some(p=>p.id===o.id)&&s`<${et} id=${o.id} given=${o.given} state=${i} stores=${e} onClose=${h} />`}`}function la({problem:e,onDo:t}){let a=t?Qe(e):[];return s`<div class=${`problem ${e.severity??""}`}><p><b>${fe(e.text)}</b> ${fe(e.advice)}</p>
${a.length>0&&s`<div class="offers">${a.map(({name:r,act:n,given:o})=>s`<button class="button" data-ui=${`mend-${n}`} onClick=${()=>t?.(n,o)}>${r}</button>`)}</div>`}</div>`}function pt({group:e,first:t,onDo:a}){let r=Q.filter(n=>n.group===e&&!(n.id in t)).map(({id:n,name:o})=>[n,o]);return s`${Object.entries(t).map(([n,o])=>s`<button class="text wide" data-ui=${n} onClick=${()=>a(n)}>${o}</button>`)}
<${F} button=${s`<span>More</span><span class="caret"></span>`} label=${`What can be done to ${e}`} ui=${`${e}-acts`} class="text change">${n=>[...Object.entries(t),...r].map(([o,l])=>s`<button class=${`choice ${o in t?"narrow-only":""}`} data-ui=${`do-${o}`} onClick=${()=>{n(),a(o)}}>${l}</button>`)}<//>`}var ue=(e,t)=>t.map(a=>[a,`${a}, ${e}`]),$t=[...ue("on tables",["SELECT","INSERT, CREATE","ALTER","DROP","DELETE"]),...ue("on pipelines",["USE","READ","WRITE"]),...ue("on the cluster",["MONITOR","OPERATE","BACKUP","RESTORE","ACCESS","AUDIT"]),...ue("on any of these",["ALL"])],mt=["30d","90d","365d","NEVER"],ht={createUser:{name:"New user\u2026",says:"A new user can sign in, and has no rights. The password has at least 12 bytes.",asks:[["name","Name","text"],["password","Password","password"]],statement:(e,{name:t,password:a})=>`CREATE USER ${T(t)} PASSWORD ${N(a)}`},password:{name:"New password\u2026",says:"Open sessions and connections of the user end. The password has at least 12 bytes.",asks:[["password","New password","password"]],statement:(e,{password:t})=>`ALTER USER ${T(e)} PASSWORD ${N(t)}`},ownPassword:{name:"Change my password\u2026",says:"Your other sessions and connections end. The password has at least 12 bytes.",asks:[["old","Current password","password"],["password","New password","password"]],statement:(e,{old:t,password:a})=>`ALTER USER CURRENT_USER PASSWORD ${N(a)} OLD ${N(t)}`},disable:{name:"Disable\u2026",says:"The user cannot sign in until somebody enables the user again. What the user has open ends.",asks:[],statement:e=>`ALTER USER ${T(e)} DISABLED`},enable:{name:"Enable\u2026",says:"The user can sign in again.",asks:[],statement:e=>`ALTER USER ${T(e)} ENABLED`},dropUser:{name:"Drop the user\u2026",says:"What the user has open ends, and so do the tokens that have the rights of the user. This cannot be undone.",asks:[],statement:e=>`DROP USER ${T(e)}`,typed:!0},createRole:{name:"New role\u2026",says:"A role is a named set of grants and of other roles.",asks:[["name","Name","text"]],statement:(e,{name:t})=>`CREATE ROLE ${T(t)}`},dropRole:{name:"Drop the role\u2026",says:"Users lose the rights that they have by this role only.",asks:[],statement:e=>`DROP ROLE ${T(e)}`,typed:!0},grant:{name:"Grant\u2026",says:"On a table: app.logs, app.logs_* or app.*. On a pipeline: PIPELINE nginx. On the cluster: CLUSTER.",asks:[["privileges","Privileges","privileges"],["on","On","target"]],statement:(e,t)=>`GRANT ${t.privileges} ON ${t.on} TO ${T(e)}`},grantRole:{name:"Grant a role\u2026",says:"The user gets all rights of the role.",asks:[["role","Role","role"]],statement:(e,{role:t})=>`GRANT ${T(t)} TO ${T(e)}`},revoke:{name:"Revoke\u2026",says:"Open requests, tails and connections that need this right end.",asks:[],statement:e=>Te(e)},createToken:{name:"New token\u2026",says:"A token to ingest can only send rows. A token to query can only read. The target is a table or a pattern: app.logs, app.*.",asks:[["name","Name","text"],["scope","To","scope"],["on","Target","target"],["expires","Expires in","lifetime"],["note","Note","text?"]],statement:(e,{name:t,scope:a,on:r,expires:n,note:o})=>`CREATE TOKEN ${T(t)} FOR ${a==="query"?"QUERY ON":"INGEST INTO"} ${r} EXPIRES ${n==="NEVER"?"NEVER":`IN ${N(n)}`}${o?` NOTE ${N(o)}`:""}`},rotate:{name:"Rotate\u2026",says:"The token gets a new secret. The old one remains valid for 24 hours.",asks:[],statement:e=>`ALTER TOKEN ${T(e)} ROTATE`},dropToken:{name:"Drop the token\u2026",says:"Programs that use the token are refused at once. This cannot be undone.",asks:[],statement:e=>`DROP TOKEN ${T(e)}`,typed:!0}},ft="(PIPELINE |DATABASE |TABLE )?[A-Za-z0-9_.*$@:\\-]+";function Te(e){let t=/^GRANT (.+) TO ("(?:[^"]|"")*"|[^\s"]+)( WITH GRANT OPTION)?$/s.exec(e);return t?`REVOKE ${t[1]} FROM ${t[2]}`:""}function bt(e,t){let a={...t};for(let[r,,n]of e.asks)n==="password"&&(a[r]="\u2026");return a}function gt(e,{scope:t,on:a},r){let n=a.replace(/^(TABLE|DATABASE) /,"").split("."),[o,l]=a.startsWith("DATABASE ")?[n[0],"*"]:n.length>1?n:["public",n[0]],[i,c]=[o.replace("*","public"),l.replace("*","app")],u=`-H ${j(`Authorization: Bearer ${r}`)}`;if(t==="query"){let m=l.includes("*")?"SHOW TABLES":`SELECT * FROM ${T(c)} LIMIT 10`;return`curl ${j(`${e}/v1/sql?${new URLSearchParams({db:i,format:"ndjson"})}`)} ${u} \\
     --data-urlencode ${j(`sql=${m}`)}`}let d=new URLSearchParams({db:i,table:c,pipeline_name:"svc_identity"});return`curl ${j(`${e}/v1/ingest?${d}`)} ${u} \\
     -H 'Content-Type: application/json' -d '[{"level":"info","msg":"hello"}]'`}function pe({name:e,says:t,asks:a,choices:r,patterns:n={},initial:o={},word:l="",statement:i,latest:c,onRun:u,onClose:d,children:m}){let[h,p]=g(()=>({...Object.fromEntries(a.map(([f,,C])=>[f,C==="column"?"":[r[C]?.[0]??""].flat()[0]])),...o})),k=e.replace("\u2026","");return s`<${te} title=${k} word=${l} action=${l?k:"Run it"} busy=${c.since.value>0} onYes=${()=>c.since.value>0||u(h)}
onClose=${()=>{c.error.value=null,d()}}>
<p>${t}</p>
${m}
${a.map(([$,f,C])=>s`<label>${f}<${ia} name=${$} kind=${C} choices=${r[C]} pattern=${n[C]} value=${h[$]} onValue=${y=>p({...h,[$]:y})} /></label>`)}
<pre class="asked">${i(h)}</pre>
<${x} latest=${c} what="The statement" inForm /><//>`}function ia({name:e,kind:t,choices:a,pattern:r,value:n,onValue:o}){let l=i=>o(i.currentTarget.value);if(!a){let[i,c]=t==="password"?["password","new-password"]:["text","off"];return s`<input required=${t!=="text?"} type=${i} data-ui=${`ask-${e}`} autocomplete=${c} spellcheck=${!1} pattern=${r} value=${n} onInput=${l} />`}return s`<select required data-ui=${`ask-${e}`} value=${n} onChange=${l}>${t==="column"&&s`<option value="">Choose</option>`}${a.map(i=>[i].flat()).map(([i,c=i])=>s`<option value=${i}>${c}</option>`)}</select>`}function vt({stores:e}){let{access:t}=e,[a,r]=g(null),[n,o]=g(""),[l,i]=g(""),[c,u]=g(null);v(()=>{d()},[n]),v(()=>{t.loadRoles()},[]);async function d(){await Promise.all([t.loadUsers(n),t.loadTokens(n)])}function m(f){i(f),t.grants.value.value=null,t.loadGrants(f)}async function h(f,C,y){let D=await t.change(f);D&&(r(null),D[0]?.Token?u({of:D[0],values:y}):W(`Done: ${C}`),await Promise.all([d(),t.loadRoles(),l&&t.loadGrants(l)]))}let p=(f,C="")=>r({id:f,target:C}),k=e.signIn.session.value?.auth==="token",$=t.users.error.value?.status!==403;return s`<section aria-label="Users and tokens"><h2 class="head">${$?"Users and tokens":"My tokens"}<span class="grow"></span>
${!k&&s`<button class="text" data-ui="own-password" onClick=${()=>p("ownPassword")}>Change my password…</button>`}
<input class="find" type="search" placeholder="Find a name" aria-label="Find a name" value=${n} onInput=${f=>o(f.currentTarget.value)} /></h2>
${$&&s`<${da} access=${t} onAct=${p} onGrants=${m} grantsOf=${l} />`}
${$&&s`<${ca} access=${t} onAct=${p} onGrants=${m} grantsOf=${l} />`}
${l&&s`<${ua} of=${l} access=${t} onAct=${p} />`}
<${pa} access=${t} onAct=${p} />
${a&&s`<${$a} key=${`${a.id} ${a.target}`} id=${a.id} target=${a.target} access=${t} onRun=${h} onClose=${()=>r(null)} />`}
${c&&s`<${ma} ...${c} onClose=${()=>u(null)} />`}</section>`}function da({access:e,onAct:t,onGrants:a,grantsOf:r}){let n=e.users.value.value??[];return s`<${$e} title="Users" latest=${e.users}><button class="text" data-ui="new-user" onClick=${()=>t("createUser")}>New user…</button><//>
${n.length>0&&s`<div class="wide-table" tabindex="0" role="region" aria-label="Users"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th>valid until, UTC</th><th></th></tr></thead>
<tbody>${n.map(o=>{let l=!o.State.startsWith("disabled");return s`<tr key=${o.User} data-ui="user" data-name=${o.User}><td><b>${o.User}</b></td><td>${o.Roles}</td><td>${o.State}</td><td>${Ce(o["Valid until"])}</td>
<td class="r"><button class="text" aria-expanded=${r===o.User} onClick=${()=>a(o.User)}>Grants</button>
<button class="text" onClick=${()=>t("password",o.User)}>Password…</button>
<button class="text" onClick=${()=>t(l?"disable":"enable",o.User)}>${l?"Disable\u2026":"Enable\u2026"}</button>
<button class="text" onClick=${()=>t("dropUser",o.User)}>Drop…</button></td></tr>`})}</tbody></table></div>`}`}function ca({access:e,onAct:t,onGrants:a,grantsOf:r}){let n=e.roles.value.value??[];return s`<${$e} title="Roles" latest=${e.roles}><button class="text" data-ui="new-role" onClick=${()=>t("createRole")}>New role…</button><//>
${n.length>0&&s`<div class="wide-table" tabindex="0" role="region" aria-label="Roles"><table><thead><tr><th>name</th><th>roles</th><th>state</th><th></th></tr></thead>
<tbody>${n.map(o=>{let l=o.State==="built in";return s`<tr key=${o.Role} data-ui="role" data-name=${o.Role}><td><b>${o.Role}</b></td><td>${o.Roles}</td><td>${o.State}</td>
<td class="r"><button class="text" aria-expanded=${r===o.Role} onClick=${()=>a(o.Role)}>Grants</button>
${!l&&s`<button class="text" onClick=${()=>t("dropRole",o.Role)}>Drop…</button>`}</td></tr>`})}</tbody></table></div>`}`}function ua({of:e,access:t,onAct:a}){let r=t.grants.value.value;return s`<${$e} title=${`Grants of ${e}`} latest=${t.grants}><button class="text" data-ui="grant" onClick=${()=>a("grant",e)}>Grant…</button>
<button class="text" data-ui="grant-role" onClick=${()=>a("grantRole",e)}>Grant a role…</button><//>
${r&&s`<div class="wide-table" tabindex="0" role="region" aria-label=${`Grants of ${e}`}><table><tbody>${r.map(n=>s`<tr key=${n} data-ui="granted"><td class="mono">${n}</td><td class="r">${Te(n)&&s`<button class="text" onClick=${()=>a("revoke",n)}>Revoke…</button>`}</td></tr>`)}</tbody></table></div>`}
${r?.length===0&&s`<p class="quiet none">${e} has no grants.</p>`}`}function pa({access:e,onAct:t}){let a=e.tokens.value.value??[];return s`<${$e} title="Tokens" latest=${e.tokens}><button class="text" data-ui="new-token" onClick=${()=>t("createToken")}>New token…</button><//>
${a.length>0&&s`<div class="wide-table" tabindex="0" role="region" aria-label="Tokens"><table><thead><tr><th>name</th><th>scope</th><th>state</th><th>expires, UTC</th><th>last used, UTC</th><th>note</th><th></th></tr></thead>
<tbody>${a.map(r=>s`<tr key=${r.Id} data-ui="token" data-name=${r.Token}><td><b>${r.Token}</b><small>cw_${r.Id}</small></td><td class="mono">${r.Scope}</td><td>${r.State}</td>
<td>${Ce(r.Expires)||"never"}</td><td title=${r["Last address"]}>${Ce(r["Last used"])}</td><td>${r.Note}</td>
<td class="r"><button class="text" onClick=${()=>t("rotate",r.Token)}>Rotate…</button><button class="text" onClick=${()=>t("dropToken",r.Token)}>Drop…</button></td></tr>`)}</tbody></table></div>`}`}function $e({title:e,latest:t,children:a}){let r=t.value.value?.length??0;return s`<h3 class="head">${e}<span class="quiet">${r>=ge&&`the first ${ge}`}</span><span class="grow"></span>${a}</h3>
<${x} latest=${t} what=${`Asking for ${e.toLowerCase()}`} />`}function $a({id:e,target:t,access:a,onRun:r,onClose:n}){let o=ht[e],l=(a.roles.value.value??[]).map(c=>c.Role).filter(c=>c!==t),i=c=>o.statement(t,bt(o,c));return s`<${pe} name=${o.name} says=${o.says} asks=${o.asks} word=${o.typed?t:""}
choices=${{privileges:$t,role:l,scope:["ingest","query"],lifetime:mt}} patterns=${{target:ft}} initial=${{expires:"90d"}}
statement=${i} latest=${a.action} onRun=${c=>r(o.statement(t,c),i(c),c)} onClose=${n} />`}function ma({of:e,values:t,onClose:a}){let r=t.on?gt(location.origin,t,e.Token):"";return s`<${V} title=${`Token ${e.Name}`} onClose=${a}>
<p>Copy the token now: the server stores only its hash and cannot show it again.</p>
<pre class="asked" data-ui="secret">${e.Token}</pre>
${r&&s`<p>A command that ${t.scope==="query"?"reads":"sends a row"} with it:</p><pre class="asked" data-ui="token-command" tabindex="0">${r}</pre>`}
<p class="acts"><button class="button main" onClick=${()=>R(e.Token)}>Copy</button>${r&&s`<button class="button" onClick=${()=>R(r)}>Copy the command</button>`}<button class="button" data-ui="secret-done" onClick=${a}>Done</button></p><//>`}var Ce=e=>e.slice(0,16).replace("T"," ");function ha({stores:e}){let{prefs:t,signIn:a,place:r}=e;_(r.page.value==="settings"?L(r.here.value.params,{}):[]),v(()=>{document.title="Settings \xB7 cordwood"},[]);let n=a.session.value;return s`<div class="scrolled settings"><div class="state"><h1>Settings</h1><span class="quiet">The choices in the first part are stored in this browser.</span></div>
<section aria-label="This browser"><h2 class="head">This browser</h2>
<${me} label="Theme" value=${t.theme} choices=${{system:"System",light:"Light",dark:"Dark"}} />
<${me} label="Times" value=${t.zone} choices=${ga()} ui="zone" />
<${me} label="Height of rows" value=${t.density} choices=${{dense:"Dense, 20 px",normal:"Normal, 24 px",comfortable:"Comfortable, 28 px"}} />
<${me} label="Single keys" value=${t.singleKeys} choices=${{on:"On",off:"Off: only keys with Ctrl"}} />
<label class="setting"><span>First table</span><select data-ui="first-table" value=${t.table.value} onChange=${o=>t.table.value=o.currentTarget.value}><option value="">the one with the most rows</option>${e.tables.all.value.filter(o=>o.db==="public").map(o=>s`<option value=${o.name}>${o.name}</option>`)}</select></label>
<${fa} stores=${e} />
<div class="setting"><span>Searches</span><span>${b(t.history.value.length)} kept ${t.history.value.length>0&&s`<button class="text go" onClick=${()=>t.history.value=[]}>Forget them</button>`}</span></div>
</section>
<section aria-label="User"><h2 class="head">User</h2>
<div class="setting"><span>Signed in as</span><span>${n?.auth==="off"?"This server has no users: everybody may do everything.":s`<b>${n?.user??""}</b>${n?.auth==="token"&&", by a token"}`}</span></div>
${n&&n.auth!=="off"&&s`<div class="setting"><span>May</span><span>${ba(n).join(", ")||"nothing"}</span></div>`}
${a.user.value&&s`<div class="setting"><span></span><button class="button" data-ui="sign-out" onClick=${()=>a.leave().then(()=>location.reload())}>Sign out, or in as somebody else</button></div>`}
</section>
${n&&n.auth!=="off"&&s`<${vt} stores=${e} />`}
<section aria-label="Server"><h2 class="head">Server</h2>
<div class="setting"><span>Node</span><span>${n?.server?.name}</span></div>
<div class="setting"><span>Version</span><span>${n?.server?.version}</span></div>
<${va} api=${e.api} />
</section></div>`}function fa({stores:e}){let{prefs:t,tables:a,api:r}=e,n=a.all.value.filter(d=>d.db==="public"),[o,l]=g(t.table.value),[i]=g(()=>z(G)),c=Me(t,"public",[o]),u=n.some(d=>d.name===o);return v(()=>{if(!u)return;let d={db:"public",tables:[o],...je(c)};i.run(m=>r.json({path:"/v1/explore/fields",body:d,signal:m}))},[o,u,c.message,c.level]),s`<label class="setting"><span>Columns of</span><select data-ui="roles-table" value=${u?o:""} onChange=${d=>l(d.currentTarget.value)}>
<option value="">a table</option>${n.map(d=>s`<option value=${d.name}>${d.name}</option>`)}</select></label>
<${x} latest=${i} what="Asking for the columns" />
${u&&i.value.value&&s`<${We} fields=${i.value.value.fields} roles=${c} onRole=${(d,m)=>t.roles.set(qe("public",[o]),{...c,[d]:m})} />`}`}function ba(e){return[e.can_read&&"read",e.can_write&&"send rows",e.can_manage&&"change tables, pipelines and the cluster"].filter(Boolean)}function ga(){return Object.fromEntries([...new Set([Ae,"UTC"])].map(e=>[e,e==="UTC"?"UTC":`${e}, the browser's`]))}function me({label:e,value:t,choices:a,ui:r}){return s`<div class="setting" role="radiogroup" aria-label=${e} data-ui=${r}><span>${e}</span><span class="choices-in-line">${Object.entries(a).map(([n,o])=>s`<label><input type="radio" name=${e} value=${n} checked=${t.value===n} onChange=${()=>t.value=n} />${o}</label>`)}</span></div>`}function va({api:e}){let[t]=g(()=>z(G));return v(()=>{t.run(async a=>(await e.send({path:"/config",signal:a,need:["MONITOR","CLUSTER"]})).text())},[]),s`<div class="setting"><span>Started with</span><${x} latest=${t} what="Asking for the settings" />${t.value.value&&s`<pre tabindex="0" aria-label="Settings of the server">${t.value.value}</pre>`}</div>`}var wa=["STRING","BIGINT","DOUBLE","BOOLEAN","TIMESTAMP(3)","TIMESTAMP(9)","JSON","BINARY"],wt=["ALTER","DROP","DELETE"],ya=["INVERTED","SKIPPING","FULLTEXT"],yt=[{id:"ttl",needs:["ALTER"],name:"Set how long rows are kept\u2026",says:"Older rows are removed automatically. Write 12h, 7d, 3M, 1y, or forever.",asks:[["ttl","ttl","text"]],statement:(e,{ttl:t})=>`ALTER TABLE ${e} SET 'ttl' = ${N(t)}`},{id:"column",needs:["ALTER"],name:"Add a column\u2026",says:"Existing rows have null in it.",asks:[["column","Name","text"],["type","Type","type"]],statement:(e,{column:t,type:a})=>`ALTER TABLE ${e} ADD COLUMN ${T(t)} ${a}`},{id:"index",needs:["ALTER"],name:"Add an index\u2026",says:"It applies to new rows. INVERTED is for values that repeat, SKIPPING for ids, FULLTEXT for words in texts.",asks:[["column","Column","column"],["index","Index","index"]],statement:(e,{column:t,index:a})=>`ALTER TABLE ${e} MODIFY COLUMN ${T(t)} SET ${a} INDEX`},{id:"rename",needs:["ALTER","DROP"],name:"Rename\u2026",says:"Senders that use the old name create a new table.",asks:[["to","New name","text"]],statement:(e,{to:t})=>`ALTER TABLE ${e} RENAME TO ${T(t)}`,gone:!0},{id:"truncate",needs:["DELETE"],name:"Remove all rows\u2026",says:"All rows are removed; columns and options stay. This cannot be undone.",asks:[],statement:e=>`TRUNCATE TABLE ${e}`,typed:!0},{id:"drop",needs:["DROP"],name:"Drop\u2026",says:"The table and all of its rows are removed. This cannot be undone.",asks:[],statement:e=>`DROP TABLE ${e}`,typed:!0,gone:!0}];function kt(e,t,a){let r=oe(e,wt.map(n=>[n,re(t,a)]));return yt.filter(({needs:n})=>n.every(o=>r?.[wt.indexOf(o)]))}function xt({id:e,db:t,name:a,info:r,fields:n,stores:o,onClose:l}){let{table:i,tables:c,place:u}=o,d=yt.find(h=>h.id===e);async function m(h){let p=d.statement(T(a),h);await i.change(t,p)&&(W(`Done: ${p}`),l(),await c.load(),d.gone?u.set("tables",e==="rename"?{db:t,t:h.to}:{db:t},{db:"public"}):await i.load(t,a))}return s`<${pe} name=${d.name} says=${d.says} asks=${d.asks} word=${d.typed?a:""}
choices=${{type:wa,index:ya,column:n.map(h=>h.name)}} initial=${{ttl:r?.ttl??"",to:a}}
statement=${h=>d.statement(T(a),h)} latest=${i.action} onRun=${m} onClose=${l}>
${d.typed&&r&&s`<p><b>${t}.${a}</b> ${r.sized?`has ${b(r.rows)} ${r.rows===1?"row":"rows"}, ${w(r.bytes)}`:"may have rows that you may not see"}.</p>`}<//>`}var ka=/\b(CREATE TABLE|IF NOT EXISTS|NOT NULL|NULL|TIME INDEX|PRIMARY KEY|(?:SKIPPING|FULLTEXT|INVERTED) INDEX|DEFAULT|PARTITION ON COLUMNS|WITH)\b/g;function Tt({db:e,name:t,info:a,stores:r,onClose:n}){let{table:o,prefs:l,signIn:i}=r,[c,u]=g("");v(()=>{o.latest.value.value=null,o.load(e,t)},[e,t]);let d=o.latest.value.value,m=l.zone.value,h=e==="svc_private"||e==="information_schema",p=kt(i,e,t);return s`<section class="pane detail tabledetail" aria-label=${`Table ${e}.${t}`} data-ui="detail">
<div class="head"><h2 class="mono">${e}.${t}</h2><span class="grow"></span>
${!h&&p.length>0&&s`<${F} button=${s`<span>Change</span><span class="caret"></span>`} label="Change the table" ui="table-actions" class="text change">${k=>p.map(({id:$,name:f})=>s`<button class="choice" data-ui=${`do-${$}`} onClick=${()=>{k(),u($)}}>${f}</button>`)}<//>`}
<button class="text" aria-label="Close" onClick=${n}>✕</button></div>
<${ae} since=${o.latest.since.value} onCancel=${o.latest.cancel} />
<div class="scrolled">
${a&&s`<${Ta} info=${a} lastRow=${d?.fields?d.lastRow??"none":""} zone=${m} />`}
<p class="acts"><a class="text go" href=${A("explore",{db:e,t},{db:"public"})}>Explore</a>
<a class="text go" href=${A("tail",{db:e,t},{db:"public"})}>Tail</a>
<a class="text go" href=${A("sql",{db:e,q:`SELECT * FROM ${T(t)} LIMIT 100`},{db:"public"})}>SQL</a></p>
<${x} latest=${o.latest} what="Asking for the table" />
${d&&s`${d.refused.map(({what:k,error:$})=>s`<p class="quiet none" data-ui="refused">${k} not shown: ${$.message}</p>`)}
${d.fields&&s`<${Ca} fields=${d.fields} rows=${d.rows} />`}
${d.segments&&s`<${Oa} segments=${d.segments} zone=${m} />`}
${d.ddl!==null&&s`<${xa} ddl=${d.ddl} />`}`}
</div>
${c&&s`<${xt} id=${c} db=${e} name=${t} info=${a} fields=${d?.fields??[]} stores=${r} onClose=${()=>u("")} />`}
</section>`}function xa({ddl:e}){return s`<h3 class="head">Statement<span class="grow"></span><button class="text" onClick=${()=>R(e)}>Copy</button></h3>
<pre class="ddl" data-ui="ddl">${ze(e,ka).map(t=>t.keyword?s`<b>${t.text}</b>`:t.text)}</pre>`}function Ta({info:e,lastRow:t,zone:a}){let r=[["rows",e.sized&&b(e.rows)],["bytes",e.sized&&`${w(e.bytes)}${e.rows>0?`, ${w(e.bytes/e.rows)} a row`:""}`],["kept for",e.ttl||"forever"],["shards",e.shards.join(", ")],["newest row",/^\d/.test(t)?`${O(t,a)}, ${E(Math.max(0,Date.now()-new Date(t).getTime()))} ago`:t],["options",e.options]];return s`<dl>${r.map(([n,o])=>o&&s`<div><dt>${n}</dt><dd>${o}</dd></div>`)}</dl>`}function Ca({fields:e,rows:t}){return s`<h3 class="head">Columns<span class="quiet">${b(e.length)}; of the newest 1,000 rows: how many have a value</span></h3>
<div class="wide-table" tabindex="0" role="region" aria-label="Columns of the table"><table><thead><tr><th>name</th><th>type</th><th>index</th><th class="r">filled</th><th>newest values</th></tr></thead>
<tbody>${e.map(a=>{let r=[...new Set(t.map(n=>Ee(n.v[a.name])).filter(Boolean))];return s`<tr><td>${a.name}${a.role&&s`<small>${a.role}</small>`}</td><td>${a.type}</td><td>${a.index??""}</td>
<td class="r">${Math.round(a.fill*100)} %</td><td class="samples" title=${r.join(", ").slice(0,500)}>${U(r.join(", ").slice(0,120))}</td></tr>`})}</tbody></table></div>`}function Oa({segments:e,zone:t}){if(e.length===0)return s`<h3 class="head">Segments</h3><p class="quiet none">All rows are still in memory and in the log: no segment is written yet.</p>`;let a=Math.min(...e.map(i=>Date.parse(i.from))),r=Math.max(...e.map(i=>Date.parse(i.to))),n=Math.max(...e.map(i=>i.rows)),o=i=>r>a?(Date.parse(i)-a)/(r-a)*100:0,l=e.reduce((i,c)=>i+c.bytes,0);return s`<h3 class="head">Segments<span class="quiet">${b(e.length)}, ${w(l)}</span></h3>
<div class="segments" role="img" aria-label=${`Segments from ${O(e[e.length-1].from,t)} to ${O(e[0].to,t)}`}>${e.map(i=>s`<i key=${i.file} title=${`${b(i.rows)} rows, ${w(i.bytes)}, ${O(i.from,t)} \u2013 ${O(i.to,t)}`}
style=${{left:`${o(i.from)}%`,width:`max(2px, ${o(i.to)-o(i.from)}%)`,height:`${Math.max(4,i.rows/n*40)}px`}}></i>`)}</div>
<p class="segmentaxis"><span>${O(new Date(a).toISOString(),t)}</span><span>${O(new Date(r).toISOString(),t)}</span></p>`}var Ct=[["name","table",e=>`${e.db}.${e.name}`,"name"],["rows","rows",e=>e.rows,"r"],["bytes","bytes",e=>e.bytes,"r"],["last","newest row",null,"opt"],["each","bytes a row",e=>e.rows>0?e.bytes/e.rows:0,"r opt"],["ttl","ttl",e=>e.ttl,"opt"],["shards","shards",e=>e.shards[0]??0,"opt"],["created","created",e=>e.created,"opt"]];function Sa({stores:e}){let{tables:t,place:a}=e,r=a.here.value.params,[n,o]=[r.get("db")??"public",r.get("t")??""];_(a.page.value==="tables"?L(r,{db:null,t:null}):[]);let[l,i]=g(""),[c,u]=g({by:"name",down:!1});v(()=>{t.load()},[t]),v(()=>{document.title=o?`${n}.${o} \xB7 cordwood`:"Tables \xB7 cordwood"},[n,o]),v(()=>e.keys.bind({"/":["find a table",()=>document.getElementById("table-find")?.focus()],Escape:["close the table",()=>d("","")]}),[e]);function d($,f){a.set("tables",{db:$,t:f},{db:"public"})}let m=t.all.value,h=Se(()=>Ra(m,l,c),[m,l,c]),p=o?m.find($=>$.db===n&&$.name===o):void 0,k=t.latest.value.value!==null;return s`<h1 class="hidden">Tables</h1>
<${ae} since=${k?0:t.latest.since.value} onCancel=${t.latest.cancel} />
<div class=${`panes two ${o?"":"no-detail"}`}>
<section class="pane list" aria-label="Tables">
<div class="head"><input class="find" id="table-find" type="search" placeholder="Find a table" aria-label="Find a table" value=${l}
onInput=${$=>i($.currentTarget.value)} />
<span class="quiet">${k&&Ea(m,h)}</span></div>
<${x} latest=${t.latest} what="Asking for the tables" />
${k&&m.length===0&&s`<${Ue} signIn=${e.signIn} />`}
${m.length>0&&s`<${_a} shown=${h} sort=${c} onSort=${u} selected=${p} onOpen=${d} lastRows=${e.lastRows} />`}
</section>
${o&&(p||!k?s`<${Tt} key=${`${n}.${o}`} db=${n} name=${o} info=${p} stores=${e} onClose=${()=>d("","")} />`:s`<section class="pane detail" aria-label="Table"><${S} title=${`There is no table ${n}.${o}.`}>
<p class="acts"><button class="button" onClick=${()=>d("","")}>Close</button></p><//></section>`)}
</div>`}function Ea(e,t){let a=t.reduce((n,o)=>n+o.bytes,0);return`${e.length===t.length?`${b(e.length)} ${e.length===1?"table":"tables"}`:`${b(t.length)} of ${b(e.length)} tables`}, ${w(a)}`}function Ra(e,t,a){let r=t.trim().toLowerCase(),n=Ct.find(([i])=>i===a.by)?.[2]??(i=>`${i.db}.${i.name}`),o=new Intl.Collator("en",{numeric:!0}),l=e.filter(i=>`${i.db}.${i.name}`.toLowerCase().includes(r));return l.sort((i,c)=>{let[u,d]=[n(i),n(c)];return typeof u=="number"&&typeof d=="number"?u-d:o.compare(String(u),String(d))}),a.down?l.reverse():l}function _a({shown:e,sort:t,onSort:a,selected:r,onOpen:n,lastRows:o}){let l=B();v(()=>o.stop,[o]);let i=Ct.map(([u,d,m,h])=>{if(!m)return s`<span class=${h}>${d}</span>`;let p=t.by===u;return s`<button class=${h} aria-pressed=${p} title=${`Sort by ${d}`}
onClick=${()=>a({by:u,down:p?!t.down:h.startsWith("r")})}>${d}${p&&(t.down?" \u2193":" \u2191")}</button>`});function c(u){let d=e[u],m=d===r;return s`<div class=${`row tablerow ${m?"on":""}`} role="row" aria-rowindex=${u+1} aria-selected=${m} key=${`${d.db}.${d.name}`}
data-ui="table-row" data-name=${d.name} onClick=${()=>n(d.db,d.name)}>
<span class="name" role="gridcell"><a href=${`/dashboard/tables?${new URLSearchParams({db:d.db,t:d.name})}`}><b>${d.db}.</b>${d.name}</a></span>
<span class="r" role="gridcell">${d.sized&&b(d.rows)}</span><span class="r" role="gridcell">${d.sized&&w(d.bytes)}</span>
<span class="opt" role="gridcell" data-ui="last-row" title=${o.of(d)}>${Da(o.of(d))}</span>
<span class="r opt" role="gridcell">${d.rows>0?w(d.bytes/d.rows):""}</span><span class="opt" role="gridcell">${d.ttl||"forever"}</span>
<span class="opt" role="gridcell">${d.shards.join(", ")}</span><span class="opt" role="gridcell">${d.created.slice(0,10)}</span></div>`}return s`<div class="tablehead tablerow">${i}</div>
<div class="rows"><${Ne} count=${e.length} height=${l?44:28} label=${`${e.length} tables`} row=${c}
onSee=${(u,d)=>{o.see(l?[]:e.slice(u,d))}}
focus=${r?e.indexOf(r):-1} resetKey=${`${t.by}${t.down}`} /></div>`}function Da(e){return e===void 0?"":e?`${E(Math.max(0,Date.now()-new Date(e).getTime()))} ago`:"none"}function Aa({stores:e}){let{tail:t,prefs:a,tables:r}=e,n=t.state.value,o=B(),[l,i]=g(null);v(()=>{t.clear(),i(null),n.table&&(a.table.value=n.table),t.follow(),document.title=`tail ${n.table} \xB7 cordwood`},[n.db,n.table,n.q]),La(t),_(t.ignored.value),v(()=>e.keys.bind({" ":["hold or follow",()=>t.held.value?t.release():t.hold()],m:["draw a line here",()=>t.mark()],End:["follow",()=>t.release()],w:["wrap lines",()=>Ot(t)],"/":["search",()=>document.getElementById("search")?.focus()],Escape:["close the row",()=>i(null)]}),[e]);async function c($){if(i($),!$.cut)return;let f=await t.wholeRow($).catch(()=>null);f&&i(C=>C?.id===$.id?f:C)}function u(){t.draft.value===n.q&&t.stopped()?t.follow():t.set({q:t.draft.value})}let{count:d,dropped:m,still:h}=t.drawn.value,p=t.held.value,k=a.zone.value;return s`<h1 class="hidden">Live tail</h1>
<form
class="ask"
role="search"
onSubmit=${$=>{$.preventDefault(),u()}}
>
<${Fe}
db=${n.db}
tables=${n.table?[n.table]:[]}
all=${r.all.value}
single
onPick=${($,f)=>t.set({db:$,t:f[f.length-1]})}
/>
<${Be}
text=${t.draft.value}
onText=${$=>t.draft.value=$}
onRun=${u}
fault=${t.draft.value===n.q?t.fault.value:null}
fields=${t.fields.value.value?.fields??[]}
valuesOf=${e.explore.valuesFor}
history=${a.history.value}
/>
<button class="button main" data-ui="run">Follow</button>
</form>
<div class="tailbar">
<span class="live" data-ui="tail-state"
><span class=${`dot ${t.live.value&&!p?"":"bad"}`}></span>${p?`Held at ${se(p.at,k).time}`:t.live.value?`Live \xB7 ${b(t.rate.value)} rows/s`:"Not connected"}</span
>
<button
class="text"
aria-pressed=${p!==null}
onClick=${()=>p?t.release():t.hold()}
>
${p?"Follow":"Hold"} <kbd>space</kbd>
</button>
<button class="text" data-ui="mark" onClick=${t.mark}>
Mark <kbd>M</kbd>
</button>
<button class="text" onClick=${t.clear}>Clear</button>
<button
class="text"
aria-pressed=${n.wrap}
data-ui="wrap"
onClick=${()=>Ot(t)}
>
Wrap <kbd>W</kbd>
</button>
<label class="text"
>Keep
<select
aria-label="Rows that are kept"
value=${t.most.value}
onChange=${$=>t.most.value=Number($.currentTarget.value)}
>
${Ve.map($=>s`<option value=${$}>${b($)}</option>`)}
</select></label
>
<span class="grow"></span>
${p&&s`<button class="button" data-ui="tail-new" onClick=${t.release}>↓ ${b(t.fresh())} new rows</button>`}
${m>0&&s`<span class="quiet" data-ui="tail-dropped">${b(m)} older rows are in the table only</span>`}
${h&&s`<span class="quiet" data-ui="tail-still">more rows came than are kept: this list stands still until you follow again</span>`}
<a class="text" data-ui="explore-this" href=${St(t)}
>Explore this</a
>
</div>
${t.ended.value&&s`<${Na} tail=${t} />`}
${!t.isMissing()&&s`<${x} latest=${{...t.fields,again:()=>{t.follow()}}} what="Following the table" />`}
<div class=${`panes tail ${l?"":"no-detail"}`}>
<section class="pane list" aria-label="Rows" onMouseDown=${$=>{$.target.closest("[data-ui=row]")&&t.hold()}}>
${d===0?s`<${S}
title=${Pa(t)}
>
${t.isMissing()&&s`<p>Its rows are shown here as soon as the first ones are stored.</p>`}
${n.table&&!t.isMissing()&&!t.stopped()&&s`<p class="acts"><button class="button" onClick=${()=>t.follow("10m")}>Show the last ten minutes</button></p>`}<//
>`:s`<${ne}
count=${d}
at=${t.at}
shape=${t.shape.value}
columns=${Re(o,t.columns.value,t.fields.value.value)}
marks=${t.marks.value}
zone=${k}
density=${a.density.value}
narrow=${o}
label=${`${d} rows, newest last`}
selected=${l?.id??""}
dropped=${m}
follow=${!p}
wrap=${n.wrap}
onEnd=${$=>!$&&t.hold()}
onOpen=${$=>{t.hold(),$.id===l?.id?i(null):c($)}}
/>`}
</section>
${l&&s`<${Ie}
row=${l}
shape=${t.shape.value}
zone=${k}
marks=${t.marks.value}
columns=${t.columns.value}
trace=${null}
onOnly=${$=>t.set({q:Pe(n.q,$)})}
onWithout=${$=>t.set({q:Le(n.q,$)})}
onClose=${()=>i(null)}
/>`}
</div>`}function Na({tail:e}){let[t,a]=[e.fault.value,e.nearest.value];return s`<div class="banner" role="alert" data-ui="banner">${e.ended.value}
${a.map(r=>s` <button class="text go" data-ui="nearest" onClick=${()=>e.set({q:e.replaceFault(r)})}>${r}</button>`)}
${!t&&s` <button class="text go" data-ui="retry" onClick=${()=>e.follow()}>Follow again</button> <a class="text go" href=${St(e)}>Show them in Explore</a>`}</div>`}function Pa(e){let{table:t}=e.state.value;return t?e.isMissing()?`There is no table ${t} yet.`:e.stopped()?`${t} is not followed.`:`Waiting for new rows in ${t}.`:"Choose a table to follow."}function Ot(e){e.set({wrap:e.state.value.wrap?"":"1"},{replace:!0})}function St(e){let{db:t,table:a,q:r}=e.state.value;return A("explore",{db:t,t:a,q:r,...e.roles.value,from:e.at(0)?.time??""},{db:"public"})}function La(e){v(()=>{let t,a=0,r=()=>{if(clearTimeout(t),document.visibilityState==="hidden")t=setTimeout(()=>{a=Date.now(),e.stop()},3e4);else if(a){let o=`${Math.ceil((Date.now()-a)/1e3)+30}s`;a=0,e.follow(o)}},n=()=>{let o=getSelection();o&&!o.isCollapsed&&o.anchorNode?.parentElement?.closest(".row")&&e.hold()};return document.addEventListener("visibilitychange",r),document.addEventListener("selectionchange",n),()=>{clearTimeout(t),document.removeEventListener("visibilitychange",r),document.removeEventListener("selectionchange",n),e.stop()}},[e])}export{jt as AddPage,ra as ClusterPage,_t as Compare,Nt as Patterns,Et as RejectsPage,ha as SettingsPage,Sa as TablesPage,Aa as TailPage};

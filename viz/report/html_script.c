/* html_script.c - the script of a page, if scripts may run: columns sort, a box filters rows, links
 * highlight the row they point to, printing opens what is folded. */
#include "viz/report/html.h"

static const char sorting[] =
    "\n(function(){'use strict';\n"
    "var d=document;\n"
    "function all(s,e){return Array.prototype.slice.call((e||d).querySelectorAll(s));}\n"
    /* sorting: numbers largest first, texts from a to z; a second click reverses, a third
     * restores */
    "function key(row,i){var c=row.cells[i],n=c.getAttribute('data-n');\n"
    " return n===null?c.textContent.trim().toLowerCase():Number(n);}\n"
    "function order(a,b,way){\n"
    " if(a===''||b==='')return a===b?0:a===''?1:-1;\n"
    " return way*(typeof a==='number'&&typeof b==='number'?a-b:String(a)<String(b)?-1:"
    "String(a)>String(b)?1:0);}\n"
    "all('main table').forEach(function(t){\n"
    " var body=t.tBodies[0],was=all('tr',body),heads=all('thead th',t);\n"
    " heads.forEach(function(h,i){\n"
    "  var b=d.createElement('button'),first=h.className==='r'?-1:1,state=0;\n"
    "  b.type='button';while(h.firstChild)b.appendChild(h.firstChild);h.appendChild(b);\n"
    "  h.reset=function(){state=0;h.removeAttribute('aria-sort');};\n"
    "  b.addEventListener('click',function(){\n"
    "   var now=(state+1)%3,rows=was.slice(),way=now===1?first:-first;\n"
    "   heads.forEach(function(o){o.reset();});state=now;\n"
    "   if(now){rows.sort(function(x,y){return order(key(x,i),key(y,i),way);});\n"
    "    h.setAttribute('aria-sort',way>0?'ascending':'descending');}\n"
    "   t.classList.toggle('flat',now>0);\n"
    "   rows.forEach(function(r){body.appendChild(r);});});});});\n";

static const char finding[] =
    /* searching: rows that contain all the words */
    "var nav=d.querySelector('nav'),form=d.createElement('div'),box=d.createElement('input'),"
    "label=d.createElement('label'),count=d.createElement('output');\n"
    "var rows=all('main tbody tr').map(function(r){return{row:r,text:r.textContent.toLowerCase()};"
    "});\n"
    "form.className='find';label.htmlFor=box.id='find';label.textContent='Find rows';"
    "box.type='search';box.autocomplete='off';count.htmlFor='find';\n"
    "form.appendChild(label);form.appendChild(box);form.appendChild(count);"
    "nav.insertBefore(form,nav.firstChild);\n"
    "function find(){var words=box.value.toLowerCase().split(/\\s+/).filter(Boolean),n=0;\n"
    " rows.forEach(function(r){var hit=words.every(function(w){return r.text.indexOf(w)>=0;});\n"
    "  r.row.hidden=!hit;n+=hit;});\n"
    " count.textContent=words.length?n+' of '+rows.length+' rows':'';}\n"
    "box.addEventListener('input',find);\n"
    "d.addEventListener('keydown',function(e){\n"
    " if(e.key==='/'&&d.activeElement!==box){e.preventDefault();box.focus();}\n"
    " else if(e.key==='Escape'&&d.activeElement===box){box.value='';find();}});\n"
    /* links into rows */
    "function show(){var "
    "id=decodeURIComponent(location.hash.slice(1)),e=id&&d.getElementById(id);\n"
    " all('.lit').forEach(function(l){l.classList.remove('lit');});\n"
    " if(!e)return;\n"
    " for(var p=e;p;p=p.parentElement)if(p.tagName==='DETAILS')p.open=true;\n"
    " var row=e.closest('tr');if(!row)return;\n"
    " if(row.hidden){box.value='';find();}\n"
    " row.classList.add('lit');row.scrollIntoView({block:'center'});}\n"
    "addEventListener('hashchange',show);\n"
    "d.addEventListener('click',function(e){\n"
    " var a=e.target.closest&&e.target.closest('a'),to=a&&(a.getAttribute('href')||"
    "a.getAttribute('xlink:href'));\n"
    " if(to&&to===location.hash)show();});\n"
    "show();\n"
    /* printing */
    "var closed=[];\n"
    "addEventListener('beforeprint',function(){closed=all('details:not([open])');"
    "closed.forEach(function(x){x.open=true;});});\n"
    "addEventListener('afterprint',function(){closed.forEach(function(x){x.open=false;});});\n"
    "})();\n";

const char *const html_script[] = {sorting, finding, html_folding, html_moving, NULL};

const char html_script_hash[] = "ThpUEboE0zT1LAZqqBUZedQ9wfcZEAj3Wy/WAa09niU=";
